#!/bin/sh
# Runs the gateway with the configuration in the add-on's folder. The first start writes one, with a new key.
set -eu
umask 077
file=/config/gateway.json
if [ ! -e "$file" ]; then
  key=$(head -c 32 /dev/urandom | base64)
  printf '{ "name": "atto",\n  "adapters": ["hci0"],\n  "esphome": {"key": "%s"} }\n' "$key" > "$file.new"
  mv "$file.new" "$file"
  echo "wrote $file with a new key; Home Assistant asks for it: $key"
fi
exec atto-gateway "$file"
