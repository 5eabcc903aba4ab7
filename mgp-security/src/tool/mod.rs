//! Tool security (MGP §4): what a tool's security comes to, once everybody who has a say was heard.
