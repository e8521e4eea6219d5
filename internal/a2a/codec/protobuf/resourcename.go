// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import "strings"

// The resource names of 0.3 are tasks/{id} and tasks/{id}/pushNotificationConfigs/{id}. A
// bare id is accepted as the name of a task.
const (
	tasks   = "tasks/"
	configs = "/pushNotificationConfigs"
	// oldConfigs is the collection in 0.2.2 to 0.2.4.
	oldConfigs = "/pushNotifications"
)

func resourceName(task, config string) string { return tasks + task + configs + "/" + config }

func (d *decoder) taskName() string { return d.bounded(strings.TrimPrefix(d.String(), tasks)) }

// parentName reads the name of a task, or of the collection of its configurations, and
// returns the id of the task.
func (d *decoder) parentName() string {
	name := strings.TrimPrefix(d.String(), tasks)
	return d.bounded(strings.TrimSuffix(strings.TrimSuffix(name, configs), oldConfigs))
}

// configName reads the name of a configuration, or the name of a task. config is "" for the
// name of a task.
func (d *decoder) configName() (task, config string) {
	name := strings.TrimPrefix(d.String(), tasks)
	for _, collection := range []string{configs, oldConfigs} {
		at := strings.LastIndex(name, collection+"/")
		if at >= 0 {
			return d.bounded(name[:at]), d.bounded(name[at+len(collection)+1:])
		}
	}
	return d.bounded(name), ""
}

func (d *decoder) bounded(id string) string {
	if len(id) > maxID {
		d.Fail("has an id of more than 256 bytes")
	}
	return id
}
