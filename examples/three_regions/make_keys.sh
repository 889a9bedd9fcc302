#!/bin/sh
# Make the certificates of the three regions, and the authority that signs them, in the folder keys.
set -e
umask 077
mkdir -p keys
cd keys
new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650"
openssl req -x509 $new -subj /CN=Authority -keyout authority.key -out authority.pem
for region in ORDREGN QUEREGN STKREGN; do
  name=$(echo $region | tr A-Z a-z)
  openssl req -x509 $new -subj /CN=$region -CA authority.pem -CAkey authority.key -keyout $name.key -out $name.pem \
    -addext basicConstraints=critical,CA:FALSE
done
