package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDev(t *testing.T) {
	pats := strings.Fields(os.Getenv("PKG"))
	rs, err := Package(context.Background(), ".", standard, pats...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		for name, f := range r.Files {
			if filepath.Ext(name) == ".go" && (os.Getenv("ONLY") == "" || os.Getenv("ONLY") == name) {
				fmt.Printf("=== %s %s\n%s\n", r.Package, name, f)
			}
		}
		for _, f := range r.Refused {
			fmt.Println("REFUSED", filepath.Base(r.Package), f.Grouping, f.Err())
		}
	}
}
