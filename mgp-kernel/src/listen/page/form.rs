//! Forms: what a browser sends of one, and the params of an operation that it stands for.

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use mgp_types::{Error, Object, RawJson};
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
        let mut params = Object::new();
        for (name, value) in self.fields().filter(|(name, value)| !name.starts_with('_') && !value.is_empty())
        {
            match name.strip_suffix(":json") {
                Some(name) => {
                    let value = RawJson::parse(value.to_owned());
                    let wrong = |error| Error::invalid_params(format!("`{name}` is no JSON: {error}"));
                    params.set(name.to_owned(), value.map_err(wrong)?);
                }
                None => params.set(name.to_owned(), RawJson::from_text(value)),
            }
        }
        Ok(params)
    }
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
        let (rest, back) = form.without("_back");
        assert_eq!((back.as_deref(), rest.get("_back")), (Some("/"), None));
    }
}
