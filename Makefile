# What people install. Everything else is a go command: see CONTRIBUTING.md.

.PHONY: release wheel

# Archives of the weft command for Linux, macOS and Windows, with checksums and bills of materials.
release:
	go run ./internal/release --out dist

# A wheel for pip, of this machine's platform; make wheel PLATFORMS=darwin/arm64 of another.
wheel:
	go run ./internal/release --out dist --wheel --platforms "$(PLATFORMS)"
