module github.com/idemrace/idemrace

go 1.26
