package main

import (
	"crypto/ed25519"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/mcpserver"
)

// maxEnvelope bounds the files attest verify reads; an answer over MCP has at
// most a few megabytes.
const maxEnvelope = 256 << 20

// newAttest groups the commands on signing keys and signed answers.
func newAttest(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "attest",
		Short:   "Make a signing key and verify signed answers",
		Example: "  arche attest keygen ~/.arche/key.pem\n  arche attest verify answer.json --public-key did:key:z6Mk...",
	}
	cmd.AddCommand(newKeygen(a), newAttestVerify(a))
	return cmd
}

func newKeygen(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "keygen OUT",
		Short: "Write a new Ed25519 signing key and print its did:key",
		Long: "Write a new Ed25519 private key (PKCS#8 PEM, mode 0600) to OUT and print the did:key that\n" +
			"verifies what it signs. With ARCHE_SIGNING_KEY naming OUT, every answer carries an attestation.",
		Example: "  arche attest keygen ~/.arche/key.pem",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := attest.GenerateKey()
			if err != nil {
				return err
			}
			err = attest.WriteKey(args[0], key, force)
			if f := fault.As(err); f != nil && f.Kind == fault.Refused {
				return usagef("%s", f.Message)
			}
			if err != nil {
				return err
			}
			a.printf("key       %s\n", args[0])
			a.printf("did:key   %s\n", key.DID())
			a.printf("publish the did:key; set ARCHE_SIGNING_KEY to the path for arche serve and arche mcp\n")
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace OUT if it exists")
	return cmd
}

func newAttestVerify(a *app) *cobra.Command {
	var inputs, response, public string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify ENVELOPE",
		Short: "Check a signed answer offline",
		Long: "Check the attestation in ENVELOPE (a file, or - for standard input): the signature, each readable\n" +
			"field against the signed one, and the hashes of what is given beside it. ENVELOPE may be a whole\n" +
			"answer; then the answer is checked too. Without --public-key the result shows integrity, not who signed.",
		Example: "  arche attest verify answer.json --public-key did:key:z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := a.question(args[0], inputs, response, public)
			if err != nil {
				return err
			}
			check := attest.Verify(q)
			if asJSON {
				err = a.printJSON(check.Answer())
			} else {
				a.printf("%s", check.Text())
			}
			if err == nil && !check.OK() {
				err = errFailed
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&inputs, "inputs", "", "JSON file of the arguments, to check their hash")
	f.StringVar(&response, "response", "", "JSON file of the answer without its attestation, to check its hash")
	f.StringVar(&public, "public-key", "", "the signer's did:key, or a file with its public key (PEM or 32 raw bytes)")
	f.BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// question reads the files and the key that a verification is asked about.
func (a *app) question(envelope, inputs, response, public string) (attest.Question, error) {
	var q attest.Question
	var err error
	if q.Envelope, err = a.readJSON(envelope); err != nil {
		return q, err
	}
	if inputs != "" {
		if q.Inputs, err = a.readJSON(inputs); err != nil {
			return q, err
		}
	}
	if response != "" {
		if q.Response, err = a.readJSON(response); err != nil {
			return q, err
		}
	}
	if public != "" {
		q.Key, err = attest.ParsePublic(public)
	}
	return q, err
}

// readJSON reads one JSON document from a file or, for "-", standard input.
func (a *app) readJSON(name string) (any, error) {
	data, err := a.readInput(name, maxEnvelope)
	if err != nil {
		return nil, err
	}
	v, err := attest.ParseJSON(data)
	if f := fault.As(err); f != nil {
		return nil, fault.Wrap(err, f.Kind, "%s: %s", name, f.Message)
	}
	return v, err
}

// readInput reads a whole file or, for "-", standard input, up to limit bytes.
func (a *app) readInput(name string, limit int64) ([]byte, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fileFault(name, err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fileFault(name, err)
	}
	if int64(len(data)) > limit {
		return nil, fault.New(fault.Limit, "%s is larger than %d bytes", name, limit)
	}
	return data, nil
}

// fileFault names the file as the user gave it.
func fileFault(name string, err error) error {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(err, fault.NotFound, "no file %s", name)
	case errors.As(err, &p):
		return fault.Wrap(err, fault.Invalid, "%s: %v", name, p.Err)
	}
	return fault.Wrap(err, fault.Invalid, "%s: %v", name, err)
}

// signer loads the key that ARCHE_SIGNING_KEY names; without one it is nil. It
// is called before anything is served, so that a bad key ends the program.
func (a *app) signer() (*attest.Signer, error) {
	path := a.env("ARCHE_SIGNING_KEY")
	if path == "" {
		return nil, nil
	}
	key, err := attest.LoadKey(path)
	if err != nil {
		return nil, err
	}
	return attest.NewSigner(key, attest.Options{Engine: "arche@" + mcpserver.Version}), nil
}

// pinnedKey is the public key a flag names, nil for "".
func pinnedKey(name string) (ed25519.PublicKey, error) {
	if name == "" {
		return nil, nil
	}
	return attest.ParsePublic(name)
}

// parseObjectArg reads a JSON object given as text, as @FILE or as - (standard
// input), for the flag of that name.
func (a *app) parseObjectArg(flag, value string) (*canon.Object, error) {
	data := []byte(value)
	var err error
	switch {
	case value == "-":
		data, err = a.readInput("-", maxEnvelope)
	case len(value) > 0 && value[0] == '@':
		data, err = a.readInput(value[1:], maxEnvelope)
	}
	if err != nil {
		return nil, err
	}
	o, err := canon.ParseObject(data, canon.Limits{})
	if err != nil {
		return nil, usagef("--%s must be a JSON object of field: value, as text, @FILE or -: %v", flag, err)
	}
	return o, nil
}
