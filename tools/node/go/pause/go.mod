module app-operator.local/tools/node/pause

go 1.24.0
