// Package tree unpacks the files of a commit, for programs that measure or compare two commits.
package tree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Unpack writes the files of a commit of the current repository to a new directory.
func Unpack(ctx context.Context, commit, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	archive := exec.CommandContext(ctx, "git", "archive", "--format=tar", commit)
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", folder)
	pipe, err := archive.StdoutPipe()
	if err != nil {
		return err
	}
	archive.Stderr, unpack.Stderr, unpack.Stdin = os.Stderr, os.Stderr, pipe
	if err := archive.Start(); err != nil {
		return err
	}
	unpacked := unpack.Run()
	if err := archive.Wait(); err != nil {
		return fmt.Errorf("git archive %s: %w", commit, err)
	}
	if unpacked != nil {
		return fmt.Errorf("tar: %w", unpacked)
	}
	return nil
}
