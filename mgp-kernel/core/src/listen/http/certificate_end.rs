//! The end of a certificate, for those who watch it.

use mgp_types::mgp::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Returns the time at which the first certificate of a chain in PEM expires; `None` if it cannot be read.
pub(super) fn certificate_end(chain: &[u8]) -> Option<Timestamp> {
    let chain = CertificateDer::from_pem_slice(chain).ok()?;
    let certificate = element(&chain)?.content;
    let mut fields = element(certificate)?.content;
    let skipped = if fields.first() == Some(&VERSION) { 4 } else { 3 };
    for _ in 0..skipped {
        fields = element(fields)?.rest;
    }
    let validity = element(fields)?.content;
    let end = element(element(validity)?.rest)?;
    let text = std::str::from_utf8(end.content).ok()?;
    let text = match end.tag {
        UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        _ => text.to_owned(),
    };
    let [year, month, day] = [text.get(..4)?, text.get(4..6)?, text.get(6..8)?];
    let [hour, minute, second] = [text.get(8..10)?, text.get(10..12)?, text.get(12..14)?];
    format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z").parse().ok()
}

/// An element of DER, and what follows it.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    rest: &'a [u8],
}

fn element(der: &[u8]) -> Option<Element<'_>> {
    let (&[tag, length], rest) = der.split_first_chunk()?;
    let (length, rest) = if length < LONG {
        (usize::from(length), rest)
    } else {
        let (bytes, rest) = rest.split_at_checked(usize::from(length - LONG))?;
        let add = |length: usize, byte: &u8| Some(length.checked_mul(256)? + usize::from(*byte));
        (bytes.iter().try_fold(0, add)?, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some(Element { tag, content, rest })
}

/// The tag of the version, which comes first where there is one.
const VERSION: u8 = 0xa0;
/// The tag of a time whose year has two digits.
const UTC_TIME: u8 = 0x17;
/// The beginning of a length that takes further bytes.
const LONG: u8 = 0x80;

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_read_in_both_forms_of_years() {
        for (year, end) in [(2031, "2031-02-03T00:00:00Z"), (2077, "2077-02-03T00:00:00Z")] {
            let mut params = CertificateParams::new(vec!["kernel-1".to_owned()]).unwrap();
            params.not_after = date_time_ymd(year, 2, 3);
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let body = STANDARD.encode(certificate.der());
            let pem = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
            assert_eq!(certificate_end(pem.as_bytes()), Some(end.parse().unwrap()));
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        for text in ["", "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n"] {
            assert_eq!(certificate_end(text.as_bytes()), None);
        }
    }
}
