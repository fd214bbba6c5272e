// Package idemrace is the root of the module. It holds no code, only the rules of
// the house: who may import whom, how long a function may be, where the
// environment is read. They are tests, so that go test ./... keeps them.
//
// Start at the contract in package idempotency, at the command in cmd/idemrace,
// or at the rooms in docs/design.md.
package idemrace
