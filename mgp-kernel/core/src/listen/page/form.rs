//! Forms: what a browser sends of one, and the params of an operation that it stands for.

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use mgp_types::{Error, Object, RawJson};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

/// The fields of a form or of the query of an address, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form from the body of a request.
    ///
    /// # Errors
    /// The form is too long, or is lost on the way.
    pub(super) async fn read(body: Incoming) -> Result<Self, Error> {
        let bytes = Limited::new(body, MAX_BYTES).collect().await.map_err(|error| {
            Error::invalid_params(format!("the form has more than {MAX_BYTES} bytes, or was cut: {error}"))
        })?;
        Ok(Self::parse(&bytes.to_bytes()))
    }

    pub(super) fn of(fields: &[(&str, &str)]) -> Self {
        Self(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    pub(super) fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// Returns the value of a field that is filled in.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(field, _)| field == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the form without a field, and the value of that.
    pub(super) fn without(mut self, name: &str) -> (Self, Option<String>) {
        let value = self.get(name).map(str::to_owned);
        self.0.retain(|(field, _)| field != name);
        (self, value)
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the form once for each of its fields `_each`, with what that stands for; or as it is, if it has none.
    pub(super) fn each(&self) -> Vec<Self> {
        let (each, common): (Vec<_>, Vec<_>) = self.0.iter().cloned().partition(|(name, _)| name == "_each");
        if each.is_empty() {
            return vec![self.clone()];
        }
        let whole = |one: Self| Self(common.iter().cloned().chain(one.0).collect());
        each.iter().map(|(_, one)| whole(Self::parse(one.as_bytes()))).collect()
    }

    /// Returns the params that the fields stand for whose names begin so, by the rest of their names.
    ///
    /// # Errors
    /// As [`params`](Self::params).
    pub(super) fn params_below(&self, beginning: &str) -> Result<Object, Error> {
        object(self.fields().filter_map(|(name, value)| Some((name.strip_prefix(beginning)?, value))))
    }

    /// Returns the request that the form stands for.
    ///
    /// # Errors
    /// A field does not hold what it should.
    pub(super) fn to<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.params()?.to().map_err(|error| Error::invalid_params(error.to_string()))
    }

    /// Returns the form as the query of an address.
    pub(super) fn to_query(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(self.fields()).finish()
    }

    /// Returns the params that the form stands for: a text for each field that is filled in, or the JSON in a field whose name
    /// ends in `:json`. Fields with an underscore in front are about the form itself.
    ///
    /// # Errors
    /// A field holds no JSON where it should.
    pub(super) fn params(&self) -> Result<Object, Error> {
        object(self.fields().filter(|(name, _)| !name.starts_with('_')))
    }
}

fn object<'f>(fields: impl Iterator<Item = (&'f str, &'f str)>) -> Result<Object, Error> {
    let mut object = Object::new();
    for (name, value) in fields.filter(|(_, value)| !value.is_empty()) {
        match name.strip_suffix(":json") {
            Some(name) => {
                let value = RawJson::parse(value.to_owned());
                let wrong = |error| Error::invalid_params(format!("`{name}` is no JSON: {error}"));
                object.set(name.to_owned(), value.map_err(wrong)?);
            }
            None => object.set(name.to_owned(), RawJson::from_text(value)),
        }
    }
    Ok(object)
}

/// The largest size of a form.
const MAX_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_stands_for_params_as_texts_or_json() {
        let form = Form::parse(b"id=a%20b&max_uses:json=3&empty=&_back=%2F&names:json=%5B%22x%22%5D");
        let params = form.params().unwrap().to_raw();
        assert_eq!(params.to_string(), r#"{"id":"a b","max_uses":3,"names":["x"]}"#);
        assert!(Form::parse(b"a:json=%7B").params().is_err());
        let many = Form::parse(b"agent=a&_each=tool%3Dx%26n%3Ajson%3D1&_each=tool%3Dy");
        let params: Vec<_> =
            many.each().iter().map(|one| one.params().unwrap().to_raw().to_string()).collect();
        assert_eq!(params, [r#"{"agent":"a","tool":"x","n":1}"#, r#"{"agent":"a","tool":"y"}"#]);
        let (rest, back) = form.without("_back");
        assert_eq!((back.as_deref(), rest.get("_back")), (Some("/"), None));
    }
}
