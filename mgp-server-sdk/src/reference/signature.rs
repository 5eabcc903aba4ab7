//! The signature of an address that gives data to whoever has it.

use mgp_types::hex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The members of an address that its signature covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignedMembers<'a> {
    pub(super) ref_id: &'a str,
    /// The end of the address, in seconds since 1970.
    pub(super) exp: u64,
    /// The server that the address is for; empty for anybody who has it.
    pub(super) aud: &'a str,
    pub(super) nonce: &'a str,
}

/// Signs addresses, and checks them, with HMAC-SHA256.
pub(super) struct AddressSigner {
    key: [u8; 32],
}

impl AddressSigner {
    pub(super) const fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// Returns the signature in hexadecimal digits.
    pub(super) fn sign(&self, members: SignedMembers<'_>) -> String {
        let SignedMembers { ref_id, exp, aud, nonce } = members;
        let signed = format!("v1|GET|{ref_id}|{exp}|{aud}|{nonce}");
        let digits: [u8; 64] = hex(&hmac(&self.key, signed.as_bytes()));
        digits.iter().copied().map(char::from).collect()
    }

    /// Returns whether `signature` is that of the members. The time that it takes tells nothing of the right one.
    pub(super) fn verifies(&self, members: SignedMembers<'_>, signature: &str) -> bool {
        self.sign(members).as_bytes().ct_eq(signature.as_bytes()).into()
    }
}

mgp_types::partial_debug!(AddressSigner);

/// Returns HMAC-SHA256 (RFC 2104) for a key that is shorter than a block.
fn hmac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let keyed = |pad: u8| {
        let mut block = [pad; 64];
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        Sha256::new().chain_update(block)
    };
    let inner = keyed(0x36).chain_update(message).finalize();
    keyed(0x5c).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_that_of_the_standard() {
        // RFC 4231, test case 1, whose key is filled up with zeros as the standard does.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let digits: [u8; 64] = hex(&hmac(&key, b"Hi There"));
        assert_eq!(
            std::str::from_utf8(&digits).unwrap(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
    }

    #[test]
    fn every_member_counts_and_so_does_each_digit() {
        let signer = AddressSigner::new([7; 32]);
        let members = SignedMembers { ref_id: "ref-1", exp: 10, aud: "sheets", nonce: "n" };
        let signature = signer.sign(members);
        assert!(signer.verifies(members, &signature));
        for other in [
            SignedMembers { ref_id: "ref-2", ..members },
            SignedMembers { exp: 11, ..members },
            SignedMembers { aud: "mail", ..members },
            SignedMembers { aud: "", ..members },
            SignedMembers { nonce: "m", ..members },
        ] {
            assert!(!signer.verifies(other, &signature), "{other:?}");
        }
        for wrong in
            ["", &signature[1..], &signature.to_uppercase(), &signature.replace(&signature[..1], "x")]
        {
            assert!(!signer.verifies(members, wrong), "{wrong}");
        }
        assert!(!AddressSigner::new([8; 32]).verifies(members, &signature));
        assert_eq!(format!("{signer:?}"), "AddressSigner { .. }");
    }
}
