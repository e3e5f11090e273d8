package fdg

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the graph as indented JSON.
func (g *Graph) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(g)
}

// ReadJSON reads what WriteJSON wrote, and checks it. What another version wrote
// is refused, and so is a field that this one does not know.
func ReadJSON(r io.Reader) (*Graph, error) {
	var g Graph
	if err := decode(r, &g, func() int { return g.Version }); err != nil {
		return nil, err
	}
	return g.checked()
}

// decode reads a graph of this version.
func decode(r io.Reader, into any, version func() int) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	if v := version(); v != Version {
		return fmt.Errorf("graph: version %d, but this program reads version %d", v, Version)
	}
	return nil
}

// checked returns a graph that was read, if it is one.
func (g *Graph) checked() (*Graph, error) {
	if err := g.Check(); err != nil {
		return nil, fmt.Errorf("graph %s: %w", g.Name, err)
	}
	return g, nil
}
