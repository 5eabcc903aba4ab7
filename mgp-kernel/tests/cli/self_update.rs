//! New versions of the program itself.

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
