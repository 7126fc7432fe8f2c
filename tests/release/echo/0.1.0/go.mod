module github.com/kokctl/kokctl/tests/release/echo

go 1.26.0
