package imports

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/arche-ledger/arche/internal/fault"
)

var errBroken = errors.New("the disk broke")

// broken reads a text and then no more.
func broken(text string) io.Reader {
	return io.MultiReader(strings.NewReader(text), iotest.ErrReader(errBroken))
}

// TestFilesThatStopReading: a file that opens and stops reading somewhere is told
// with its name, and what was read is no table.
func TestFilesThatStopReading(t *testing.T) {
	for text, read := range map[string]func(in io.Reader) error{
		"text":       func(in io.Reader) error { return checkText(t.Context(), "t.csv", in) },
		"header":     func(in io.Reader) error { _, _, err := readHeader("t.csv", in, CSV); return err },
		"json":       func(in io.Reader) error { _, err := readJSON(t.Context(), "t.csv", in); return err },
		"json lines": func(in io.Reader) error { return eachLineOf("t.csv", in, func([]byte) error { return nil }) },
		"header, bom": func(in io.Reader) error {
			_, _, err := readHeader("t.csv", io.MultiReader(strings.NewReader(bom), in), TSV)
			return err
		},
	} {
		for _, before := range []string{"", "id,na", "id,\"na\n"} {
			err := fileFault("t.csv", read(broken(before)))
			if !errors.Is(err, errBroken) || !fault.Is(err, fault.Invalid) || err.Error() != "t.csv: the disk broke" {
				t.Errorf("%s after %q: %v", text, before, err)
			}
		}
	}
}

// TestSlowFilesReadAlike: a file that gives one byte at a time is read as any.
func TestSlowFilesReadAlike(t *testing.T) {
	const text = bom + "id;\"na\n;me\";x\r\n1;2;3\n"
	columns, delimiter, err := readHeader("t.csv", iotest.OneByteReader(strings.NewReader(text)), CSV)
	if err != nil || delimiter != ';' || strings.Join(columns, "|") != "id|na\n;me|x" {
		t.Errorf("%q %q %v", columns, delimiter, err)
	}
	if err := checkText(t.Context(), "t.csv", iotest.DataErrReader(strings.NewReader("é\n€"))); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"a\nbé\xff":    "t.csv, line 2, byte 4: not UTF-8",
		"a\nb\xe2":     "t.csv, line 2, byte 2: not UTF-8", // a character cut off by the end of the file
		"é\x00\xff":    "t.csv, line 1, byte 3: a zero byte; the file is not text",
		"\xff\x00":     "t.csv, line 1, byte 1: not UTF-8",
		"\n\n\x00":     "t.csv, line 3, byte 1: a zero byte; the file is not text",
		"a\xe2\x82":    "t.csv, line 1, byte 2: not UTF-8",
		"\xed\xa0\x80": "t.csv, line 1, byte 1: not UTF-8", // a surrogate
	} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(text), "slow": iotest.OneByteReader(strings.NewReader(text))} {
			if err := checkText(t.Context(), "t.csv", in); err == nil || err.Error() != want {
				t.Errorf("%q, %s: %v, want %s", text, name, err, want)
			}
		}
	}
}

// TestRowsOfAnyLength: rows longer than a reader's buffer come whole.
func TestRowsOfAnyLength(t *testing.T) {
	for _, size := range []int{1, 1<<18 - 2, 1<<18 - 1, 1 << 18, 1<<18 + 1, 1 << 19} {
		long := strings.Repeat("x", size)
		var got []string
		if err := eachLineOf("t", strings.NewReader("a\n"+long+"\nb\n"), func(row []byte) error { got = append(got, string(row)); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 3 || got[0] != "a\n" || got[1] != long+"\n" || got[2] != "b\n" {
			t.Errorf("%d bytes: %d rows", size, len(got))
		}
		if err := eachLineOf("t", strings.NewReader("a\n"+long), func([]byte) error { return nil }); err == nil || err.Error() != "t ends within a row" {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	n := 0
	if err := eachLineOf("t", strings.NewReader("a\nb\n"), func([]byte) error { n++; return errStopped }); !errors.Is(err, errStopped) || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestWhatTheDatabaseSaysOfCSV: its text, which quotes the file, is the cause only.
func TestWhatTheDatabaseSaysOfCSV(t *testing.T) {
	for text, want := range map[string]string{
		"Invalid Input Error: CSV Error on Line: 17\nOriginal Line: secret": "t.csv, line 17: the row is not CSV",
		"Invalid Input Error: CSV Error on Line: ?\nsecret":                 "t.csv can't be read as CSV",
		"Out of Memory Error: secret":                                       "t.csv can't be read as CSV",
		"":                                                                  "t.csv can't be read as CSV",
	} {
		cause := fmt.Errorf("%s", text)
		if err := csvFault("t.csv", cause); err.Error() != want || !errors.Is(err, cause) || !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestEncodingsOfLatinText: Latin text in UTF-16 is known by its zeroes, a short
// text and Parquet are not it.
func TestEncodingsOfLatinText(t *testing.T) {
	for text, want := range map[string]bool{
		"i\x00d\x00,\x00n\x00": true, "\x00i\x00d\x00,\x00n": true, "i\x00d\x00,\x00n": false, "PAR1\x00a\x00b\x00c\x00d": false,
		"id,name\nx": false, "i\x00d\x00,,nn": false, "i\x00d\x00,\x00nn": true,
	} {
		if got := looksUTF16([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
