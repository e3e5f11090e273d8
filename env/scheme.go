package env

// Scheme offers environments that are not known by name: those of a library, say.
// They are named by its prefix, a colon, and a name that the library knows.
type Scheme struct {
	Prefix  string
	Doc     string // one line
	Example string // a full name
	// Packages are the Python packages that must be installed for it, by the names that pip has.
	Packages []string
	// Options makes the settings of the entries that the scheme opens, for listings.
	Options func() any
	// Open makes an entry of what follows the prefix and the colon. Whether there
	// is such an environment need not show before it is made.
	Open func(name string) (Entry, error)
}

// Pictured is implemented by options of environments that can be drawn only if
// they were made for it.
type Pictured interface {
	// WithPictures is a copy for environments that can be drawn.
	WithPictures() any
}

// Extra is implemented by options that take settings beside their own fields,
// such as the arguments of a constructor that they know nothing about.
type Extra interface {
	SetExtra(key, value string) error
}
