package main

// In place of this file a test puts one that imports the packages of loops.
