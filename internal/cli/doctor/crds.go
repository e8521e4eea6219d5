// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
)

// checkCRDs compares the fields of the installed CustomResourceDefinitions with those of the plugin. If the manager has
// the version of the plugin, these are the fields that the manager knows.
func checkCRDs(s *SharedFacts) []Finding {
	if s.CRDs == nil {
		return nil
	}
	var findings []Finding
	for _, name := range slices.Sorted(maps.Keys(s.CRDs)) {
		own := namesOnly(crdschema.Own(name))
		installed := namesOnly(s.CRDs[name])
		lacks := crdschema.Outdated(own, installed)
		adds := crdschema.Outdated(installed, own)
		switch {
		case len(installed) == 0:
			findings = append(findings, Finding{
				Level: LevelProblem, Check: crdCheck, Seen: []string{"the API server does not serve " + name},
				Cause: "The CustomResourceDefinition is not installed.", Cure: "Install the operator with its Helm chart.", Command: "helm list -A",
			})
		case len(lacks) > 0:
			findings = append(findings, s.olderCRD(name+" lacks "+crdschema.Named(lacks)))
		case len(adds) > 0:
			findings = append(findings, s.newerCRD(name+" also has "+crdschema.Named(adds)))
		}
	}
	return orOkay(findings, crdCheck, "they have the fields of kubectl-a2a "+s.Plugin)
}

const crdCheck = "CustomResourceDefinitions"

const (
	otherPlugin = "Use kubectl-a2a of the operator's version. If it has this finding, too, "
	upgrade     = "helm upgrade a2a-operator oci://ghcr.io/a2a-operator/charts/a2a-operator -n %s --reset-then-reuse-values"
)

// olderCRD returns the finding that a CustomResourceDefinition lacks fields.
func (s *SharedFacts) olderCRD(seen string) Finding {
	f := Finding{
		Level: LevelProblem, Check: crdCheck, Seen: []string{seen, s.versions()},
		Cause:   "The CustomResourceDefinitions are older than the operator. It applies no spec, and the last configuration of every agent stays in use.",
		Cure:    "Install the CustomResourceDefinitions of the operator's version.",
		Command: fmt.Sprintf(upgrade+" --version %s --set crds.enabled=true", s.operatorNamespace(), cmp.Or(s.managerVersion(), s.pluginVersion())),
	}
	if !s.sameVersion() {
		f.Level = LevelWarning
		f.Cause = "The CustomResourceDefinitions are older than kubectl-a2a. If they are older than the operator, too, it applies no spec."
		f.Cure = otherPlugin + "install the CustomResourceDefinitions of the operator's version."
	}
	return f
}

// newerCRD returns the finding that a CustomResourceDefinition has fields that the plugin does not know.
func (s *SharedFacts) newerCRD(seen string) Finding {
	f := Finding{
		Level: LevelWarning, Check: crdCheck, Seen: []string{seen, s.versions()},
		Cause: "The CustomResourceDefinitions are newer than the operator. It applies no spec that uses their new fields, and the last configuration " +
			"of these agents stays in use.",
		Cure:    "Upgrade the operator to the version of its CustomResourceDefinitions.",
		Command: fmt.Sprintf(upgrade, s.operatorNamespace()),
	}
	if !s.sameVersion() {
		f.Cause = "The CustomResourceDefinitions are newer than kubectl-a2a. If they are newer than the operator, too, it applies no spec that uses their new fields."
		f.Cure = otherPlugin + "upgrade the operator to the version of its CustomResourceDefinitions."
	}
	return f
}

func (s *SharedFacts) versions() string {
	return fmt.Sprintf("kubectl-a2a is %s, the operator is %s", s.pluginVersion(), orNone(s.managerVersion()))
}

func (s *SharedFacts) sameVersion() bool { return s.managerVersion() == s.pluginVersion() }

func (s *SharedFacts) pluginVersion() string { return strings.TrimPrefix(s.Plugin, "v") }

// managerVersion returns the version of the manager, "" if it is unknown.
func (s *SharedFacts) managerVersion() string {
	if s.Manager == nil {
		return ""
	}
	tag := versionOf(imageOf(&s.Manager.Spec.Template.Spec, "manager"))
	return strings.TrimPrefix(cmp.Or(tag, s.Manager.Labels["app.kubernetes.io/version"]), "v")
}

// namesOnly returns the fields without their defaults, which the API server does not publish in each version.
func namesOnly(fields crdschema.Fields) crdschema.Fields {
	names := crdschema.Fields{}
	for path := range fields {
		names[path] = crdschema.Field{}
	}
	return names
}
