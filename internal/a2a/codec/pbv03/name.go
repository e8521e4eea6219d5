// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv03

import "strings"

// Names of resources are tasks/{id} and tasks/{id}/pushNotificationConfigs/{id}.
// A bare id is taken for the name of a task.
const (
	tasks   = "tasks/"
	configs = "/pushNotificationConfigs"
	// oldConfigs is what 0.2.2 to 0.2.4 called them.
	oldConfigs = "/pushNotifications"
)

func configName(task, config string) string { return tasks + task + configs + "/" + config }

func (d *decoder) taskName() string { return d.bounded(strings.TrimPrefix(d.String(), tasks)) }

// parentName is that of a task, or of all of its configurations.
func (d *decoder) parentName() string {
	name := strings.TrimPrefix(d.String(), tasks)
	return d.bounded(strings.TrimSuffix(strings.TrimSuffix(name, configs), oldConfigs))
}

// configName returns no id of a configuration for the name of a task.
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
		d.Fail("has an id that is longer than 256 bytes")
	}
	return id
}
