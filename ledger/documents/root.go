package documents

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
)

// pluginCaches are the folders in which agents keep their own copies of
// plugins. A server that was started there without being told a project would
// write documents that vanish with the next update.
var pluginCaches = [][]string{
	{".copilot", "installed-plugins"},
	{".claude", "plugins"},
	{".cursor", "plugins"},
	{".cursor", "extensions"},
	{".codex", "plugins"},
	{".gemini", "extensions"},
	{".vscode", "extensions"},
	{".config", "opencode", "plugins"},
}

// FindRoot chooses the project's folder: the flag, else the environment, else
// the working directory. Only the last is implied, and refused (refusal is
// what to answer calls with) when it lies in a known plugin cache.
func FindRoot(flag, env, workDir string) (root string, refusal error) {
	for _, explicit := range []string{flag, env} {
		if explicit != "" {
			return explicit, nil
		}
	}
	parts := strings.Split(filepath.ToSlash(filepath.Clean(workDir)), "/")
	for _, cache := range pluginCaches {
		for i := range parts {
			if len(parts)-i > len(cache) && slices.Equal(parts[i:i+len(cache)], cache) {
				return workDir, fault.New(fault.Refused, "the server was started inside an agent's plugin cache (%s), which is no project",
					strings.Join(cache, "/")).
					WithHint("start it with --project FOLDER, or set ARCHE_PROJECT to the project's folder")
			}
		}
	}
	return workDir, nil
}
