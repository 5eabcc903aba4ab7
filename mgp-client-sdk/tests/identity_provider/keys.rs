//! The keys that sign tokens.

use mgp_security::jose::{Algorithm, SigningKey};
use serde_json::{Value, json};

use super::jwk_value;

/// A key with its id.
pub(super) struct NamedKey {
    pub(super) id: String,
    pub(super) key: SigningKey,
}

/// The keys of the identity provider, one for each algorithm.
pub(super) struct Keys(Vec<NamedKey>);

impl Keys {
    pub(super) fn new() -> Self {
        let rsa = SigningKey::from_pem(include_str!("rsa.pem"), Algorithm::RS256).unwrap();
        let mut edwards = ED25519.to_vec();
        edwards.extend(mgp_types::random_bytes::<32>());
        let keys = [Ok(rsa), SigningKey::generate(), SigningKey::from_pkcs8(edwards, Algorithm::EdDSA)];
        Self(
            keys.map(Result::unwrap).map(|key| NamedKey { id: format!("{:?}", key.algorithm()), key }).into(),
        )
    }

    pub(super) fn current(&self, algorithm: Algorithm) -> &NamedKey {
        let found = self.0.iter().find(|named| named.key.algorithm() == algorithm);
        found.expect("the provider signs by RS256, ES256 and EdDSA")
    }

    pub(super) fn published(&self) -> Value {
        let keys = self.0.iter().map(|named| {
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

/// What stands in front of the seed of an Ed25519 key in PKCS#8.
const ED25519: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
