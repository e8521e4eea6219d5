// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelclient

import "github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"

// skillTools returns the tools with which the model loads the skills of the agent, none without a directory of skills.
func (s *Server) skillTools() []model.Toolset {
	if s.Skills == nil {
		return nil
	}
	return []model.Toolset{*s.Skills}
}
