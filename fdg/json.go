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
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var g Graph
	if err := d.Decode(&g); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	if g.Version != Version {
		return nil, fmt.Errorf("graph: version %d, but this program reads version %d", g.Version, Version)
	}
	if err := g.Check(); err != nil {
		return nil, fmt.Errorf("graph %s: %w", g.Name, err)
	}
	return &g, nil
}
