package main

// A test replaces this file by one that imports the packages of loops.
