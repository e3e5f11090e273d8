//go:build !linux

package main

func becomeContainer() {}
