package device

// Info is a device as it is listed: whether it can be used, and if not, why.
type Info struct {
	Name   string `json:"name"`
	Doc    string `json:"doc"`
	Usable bool   `json:"usable"`
	What   string `json:"what,omitempty"`   // the hardware, as its driver calls it
	Plugin string `json:"plugin,omitempty"` // the library that runs it
	Pinned bool   `json:"pinned,omitempty"` // transfers go by page-locked memory
	Why    string `json:"why,omitempty"`    // it cannot be used
}

// List looks for every device there may be.
func List() (all []Info) {
	for _, k := range kinds {
		found := []Info{{Name: k.name}}
		var err error
		if k.list != nil {
			found, err = k.list()
		}
		if err != nil {
			found = []Info{{Name: k.name, Why: err.Error()}}
		}
		for _, d := range found {
			d.Doc, d.Usable = k.doc, d.Why == ""
			all = append(all, d)
		}
	}
	return all
}
