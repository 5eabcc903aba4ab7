//! Codes and tokens that were handed out, and what belongs to them.

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// What a client may do, and for whom.
#[derive(Debug, Clone)]
pub(super) struct Consented {
    pub(super) client: String,
    pub(super) subject: String,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
    /// The thumbprint of the key to which the tokens are bound.
    pub(super) bound_to: Option<String>,
    /// All that comes from one consent is revoked together.
    pub(super) family: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) consented: Consented,
    pub(super) redirect_uri: String,
    pub(super) challenge: String,
    pub(super) is_used: bool,
}

#[derive(Debug, Clone)]
pub(super) struct RefreshToken {
    pub(super) consented: Consented,
    pub(super) is_used: bool,
}

/// A login on another device.
#[derive(Debug, Clone)]
pub(super) struct Device {
    pub(super) user_code: String,
    pub(super) consented: Consented,
    pub(super) is_approved: bool,
}

#[derive(Default)]
pub(super) struct Issued {
    families: u64,
    pub(super) codes: HashMap<String, Code>,
    pub(super) refresh: HashMap<String, RefreshToken>,
    /// The claims of access tokens, and the family of each.
    pub(super) access: HashMap<String, (Value, u64)>,
    pub(super) devices: HashMap<String, Device>,
    revoked: HashSet<u64>,
}

impl Issued {
    pub(super) fn new_family(&mut self) -> u64 {
        self.families += 1;
        self.families
    }

    pub(super) fn is_revoked(&self, family: u64) -> bool {
        self.revoked.contains(&family)
    }

    pub(super) fn revoke_family(&mut self, family: u64) {
        self.revoked.insert(family);
    }

    pub(super) fn approve(&mut self, user_code: &str, subject: &str) -> bool {
        let Some(device) = self.devices.values_mut().find(|device| device.user_code == user_code) else {
            return false;
        };
        device.consented.subject = subject.into();
        device.is_approved = true;
        true
    }
}

/// Returns a text that nobody can guess.
pub(super) fn random() -> String {
    URL_SAFE_NO_PAD.encode(mgp_types::random_bytes::<24>())
}
