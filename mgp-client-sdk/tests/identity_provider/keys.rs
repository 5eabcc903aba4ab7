//! The keys that sign tokens.

use mgp_security::jose::{Algorithm, SigningKey};
use serde_json::{Value, json};

use super::jwk_value;

/// A key with its id.
pub(super) struct NamedKey {
    pub(super) id: String,
    pub(super) key: SigningKey,
}

/// One key for each algorithm, and those that were used before.
pub(super) struct Keys {
    generation: usize,
    current: Vec<NamedKey>,
    former: Vec<NamedKey>,
}

impl Keys {
    pub(super) fn new() -> Self {
        let rsa = SigningKey::from_pem(include_str!("rsa.pem"), Algorithm::RS256).unwrap();
        let mut current = generated(1);
        current.push(NamedKey { id: "rsa".into(), key: rsa });
        Self { generation: 1, current, former: Vec::new() }
    }

    pub(super) fn current(&self, algorithm: Algorithm) -> &NamedKey {
        let found = self.current.iter().find(|named| named.key.algorithm() == algorithm);
        found.expect("the provider signs by RS256, ES256 and EdDSA")
    }

    pub(super) fn rotate(&mut self) {
        self.generation += 1;
        for new in generated(self.generation) {
            let place = self.current.iter_mut().find(|old| old.key.algorithm() == new.key.algorithm());
            self.former.push(std::mem::replace(place.unwrap(), new));
        }
    }

    pub(super) fn retire(&mut self) {
        self.former.clear();
    }

    pub(super) fn published(&self) -> Value {
        let keys = self.current.iter().chain(&self.former).map(|named| {
            let mut jwk = jwk_value(named.key.public_jwk());
            let members = jwk.as_object_mut().unwrap();
            members.insert("kid".into(), json!(named.id));
            members.insert("use".into(), json!("sig"));
            members.insert("alg".into(), json!(named.key.algorithm()));
            jwk
        });
        json!({ "keys": keys.collect::<Vec<_>>() })
    }
}

/// Returns new keys of the kinds that are quick to make.
fn generated(generation: usize) -> Vec<NamedKey> {
    let mut edwards = ED25519.to_vec();
    edwards.extend(mgp_types::random_bytes::<32>());
    [SigningKey::generate(), SigningKey::from_pkcs8(edwards, Algorithm::EdDSA)]
        .map(|key| {
            let key = key.unwrap();
            NamedKey { id: format!("{:?}-{generation}", key.algorithm()), key }
        })
        .into()
}

/// What stands in front of the seed of an Ed25519 key in PKCS#8.
const ED25519: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
