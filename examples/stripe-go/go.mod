module github.com/idemrace/idemrace/examples/stripe-go

go 1.26.0

require github.com/idemrace/idemrace v0.0.0

require (
	github.com/stripe/stripe-go/v82 v82.5.1
	github.com/tidwall/gjson v1.20.2 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.3.0 // indirect
)

replace github.com/idemrace/idemrace => ../..
