module github.com/kokctl/kokctl/tests/release/pause

go 1.26.0
