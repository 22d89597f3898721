#!/bin/sh
# Makes the certificates of the TLS tests anew: an authority, a server for localhost (its key also encrypted, `secret`), a
# client, and a foreign authority.
set -eu
cd "$(dirname "$0")"
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key" 2>/dev/null; }
authority() {
  key "$1"
  openssl req -x509 -new -key "$1.key" -days 36500 -subj "/CN=$1" -out "$1.crt" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
}
signed() { # NAME EXTENSIONS
  key "$1"
  openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
  printf '%s\n' "$2" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA authority.crt -CAkey authority.key -CAcreateserial -days 36500 -extfile "$1.ext" \
    -out "$1.crt" 2>/dev/null
  rm "$1.csr" "$1.ext"
}
authority authority
authority foreign
signed server "subjectAltName=DNS:localhost
extendedKeyUsage=serverAuth"
openssl pkcs8 -topk8 -in server.key -passout pass:secret -out server-encrypted.key
signed client "extendedKeyUsage=clientAuth"
rm -f authority.srl authority.key foreign.key
