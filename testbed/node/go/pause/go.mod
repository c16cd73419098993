module app-operator.local/testbed/node/pause

go 1.24.0
