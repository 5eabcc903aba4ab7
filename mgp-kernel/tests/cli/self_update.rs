//! New versions of the program itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use crate::home::Home;

#[test]
fn no_version_is_looked_for_before_a_list_and_its_key_are_known() {
    let home = Home::with_state();
    let none = home.run(["self", "check"]);
    assert!(none.code == Some(1) && none.err.contains("no list of versions is configured"), "{none:?}");
    home.configure("[downloads]\nreleases = 'releases.json'\n");
    let keyless = home.run(["self", "update", "--yes"]);
    assert!(keyless.code == Some(1) && keyless.err.contains("releases_key"), "{keyless:?}");
    home.configure("releases_key = 'RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3'\n");
    let absent = home.run(["self", "check"]);
    assert!(absent.code == Some(4) && absent.err.contains("releases.json cannot be read"), "{absent:?}");
    home.write("releases.json", "test");
    home.write(
        "releases.json.minisig",
        "untrusted comment: signature from minisign secret key\n\
         RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
         trusted comment: timestamp:1556193335\tfile:test\n\
         y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n",
    );
    let signed = home.run(["self", "check"]);
    assert!(
        signed.err.contains("it is no list of versions"),
        "the signature of minisign is right: {signed:?}"
    );
    home.write("releases.json", "Test");
    let forged = home.run(["self", "check"]);
    assert!(forged.err.contains("not signed with the key"), "{forged:?}");
}

#[test]
fn an_older_version_is_told_of_and_not_installed_though_it_is_signed() {
    const KEY_ID: &[u8] = b"Ed12345678";
    let home = Home::with_state();
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let public = STANDARD.encode([KEY_ID, key.public_key().as_ref()].concat());
    home.configure(&format!("[downloads]\nreleases = 'releases.json'\nreleases_key = '{public}'\n"));
    let list = r#"{"version": "0.0.1", "archives": []}"#;
    let signed = key.sign(list.as_bytes());
    let whole = key.sign(&[signed.as_ref(), "old".as_bytes()].concat());
    let signature = STANDARD.encode([KEY_ID, signed.as_ref()].concat());
    let whole = STANDARD.encode(whole.as_ref());
    let lines = format!("untrusted comment: x\n{signature}\ntrusted comment: old\n{whole}");
    home.write("releases.json", list);
    home.write("releases.json.minisig", &lines);
    let checked = home.json(["self", "check"]);
    assert!(checked["newest"] == "0.0.1" && checked["newer"] == false, "{checked}");
    let update = home.run(["self", "update", "--yes"]);
    assert!(update.code == Some(1) && update.err.contains("0.0.1 is not newer than"), "{update:?}");
}
