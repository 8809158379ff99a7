#!/usr/bin/env bash
# Makes the cases again with the real program: SOPS_BIN=… ./make.sh. The keys are throw-away keys; gpg imports them into a folder of its own.
set -euo pipefail
cd "$(dirname "$0")"
export GNUPGHOME; GNUPGHOME=$(mktemp -d)
gpg --batch --quiet --import keys/pgp.asc keys/pgp_curve.asc
fingerprint() { gpg --list-keys --with-colons "$1" | awk -F: '/^fpr/{print $10; exit}'; }
pgp=$(fingerprint test@example.com) curve=$(fingerprint curve@example.com)
age=$(cat keys/age.pub) pq=$(cat keys/age_pq.pub) ed=$(cut -d' ' -f1,2 keys/ssh_ed25519.pub) rsa=$(cut -d' ' -f1,2 keys/ssh_rsa.pub)
export SOPS_AGE_KEY_FILE=$PWD/keys/age.agekey
empty=$(mktemp); : > "$empty"
case_() { # name, type, file, flags
  local name=$1 type=$2 file=$3; shift 3
  "$SOPS_BIN" --config "$empty" encrypt --input-type "$type" --output-type "$type" "$@" "plain/$file" > "cases/$name.$type"
  "$SOPS_BIN" decrypt --input-type "$type" --output-type "$type" "cases/$name.$type" > "cases/$name.$type.plain"
}
for format in yaml json env ini; do
  type=${format/env/dotenv}
  case_ age "$type" "doc.$format" --age "$age"
done
case_ age binary doc.txt --age "$age"
case_ bytes binary doc.bin --age "$age"
case_ pgp yaml doc.yaml --pgp "$pgp"
# Two more cases are `pgp` with the same data key in another message: `pgp_chunks` by golang.org/x/crypto/openpgp, as SOPS before 3.8
# writes it in chunks of a few bytes, and `pgp_aead` in the packet (20, OCB) that gpg writes since 2.3 for keys made since 2.3.
case_ curve yaml doc.yaml --pgp "$curve"
case_ several yaml doc.yaml --age "$age" --pgp "$pgp"
case_ encrypted_regex yaml doc.yaml --age "$age" --encrypted-regex '^(data|stringData)$'
case_ secret yaml secret.yaml --age "$age" --encrypted-regex '^(data|stringData)$'
case_ unencrypted_regex yaml doc.yaml --age "$age" --unencrypted-regex '^(kind|metadata)$'
case_ encrypted_suffix yaml doc.yaml --age "$age" --encrypted-suffix Data
case_ unencrypted_suffix yaml doc.yaml --age "$age" --unencrypted-suffix Data
# Rules about comments have no flag.
config=$(mktemp)
for rule in encrypted unencrypted; do
  printf 'creation_rules:\n  - age: %s\n    %s_comment_regex: about\n' "$age" "$rule" > "$config"
  "$SOPS_BIN" --config "$config" encrypt --filename-override x.yaml plain/doc.yaml > "cases/${rule}_comment.yaml"
  "$SOPS_BIN" decrypt "cases/${rule}_comment.yaml" > "cases/${rule}_comment.yaml.plain"
done
printf 'creation_rules:\n  - age: %s\n    encrypted_comment_regex: about\n' "$age" > "$config"
"$SOPS_BIN" --config "$config" encrypt --filename-override x.yaml plain/odd.yaml > cases/odd.yaml
"$SOPS_BIN" decrypt cases/odd.yaml > cases/odd.yaml.plain
for format in yaml env; do
  type=${format/env/dotenv}
  printf 'creation_rules:\n  - age: %s\n    mac_only_encrypted: true\n    encrypted_regex: ^(stringData|PASSWORD)$\n' "$age" > "$config"
  "$SOPS_BIN" --config "$config" encrypt --filename-override x --input-type "$type" --output-type "$type" "plain/doc.$format" > "cases/mac_only.$type"
  "$SOPS_BIN" decrypt --input-type "$type" --output-type "$type" "cases/mac_only.$type" > "cases/mac_only.$type.plain"
done
# SOPS makes elements of comments in lists, and finds another MAC then.
"$SOPS_BIN" --config "$empty" encrypt --age "$age" plain/list.yaml > cases/list_comment.yaml
"$SOPS_BIN" decrypt --ignore-mac cases/list_comment.yaml > cases/list_comment.yaml.plain
SOPS_AGE_KEY_FILE=$PWD/keys/age_pq.agekey case_ age_pq yaml doc.yaml --age "$pq"
export SOPS_AGE_SSH_PRIVATE_KEY_FILE=$PWD/keys/ssh_ed25519
case_ ssh_ed25519 yaml doc.yaml --age "$ed"
export SOPS_AGE_SSH_PRIVATE_KEY_FILE=$PWD/keys/ssh_rsa
case_ ssh_rsa yaml doc.yaml --age "$rsa"
# Three groups, two of which are needed.
cat > "$config" <<EOF
creation_rules:
  - shamir_threshold: 2
    key_groups:
      - age: [$age]
      - pgp: [$pgp]
      - pgp: [$curve]
EOF
for format in yaml json env ini; do
  type=${format/env/dotenv}
  "$SOPS_BIN" --config "$config" encrypt --filename-override x --input-type "$type" --output-type "$type" "plain/doc.$format" > "cases/groups.$type"
  "$SOPS_BIN" decrypt --input-type "$type" --output-type "$type" "cases/groups.$type" > "cases/groups.$type.plain"
done
rm -rf "$GNUPGHOME" "$empty" "$config"
