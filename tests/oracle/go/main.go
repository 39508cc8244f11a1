// Asks Kubernetes' own allocator of devices about worlds: one JSON world a line on standard input, one JSON answer a
// line on standard output, in the same order.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(input io.Reader, output io.Writer) error {
	reader := bufio.NewReaderSize(input, 1<<20)
	kept := caches{}
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read a world: %w", err)
		}
		written, err := json.Marshal(answered(line, kept))
		if err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		if _, err := output.Write(append(written, '\n')); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}

func answered(line []byte, kept caches) answer {
	var w world
	if err := json.Unmarshal(line, &w); err != nil {
		return answer{Verdict: invalid, Error: err.Error()}
	}
	return answerTo(&w, kept)
}
