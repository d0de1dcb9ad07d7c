//! What JSON of a request means where serde would take more, or less, than the document of the
//! interface says.

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use std::{fmt, marker::PhantomData, ops::RangeInclusive};

/// Something that is said as an object. Serde would also take a list of its fields, which the
/// document of the interface does not.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

/// A field that is an object.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(meant)| meant)
}

/// A field that is a list of objects.
pub fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let all = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|Object(meant)| meant).collect())
}

/// A field that may hold a whole number from 0 on. In JSON Schema `7.0` is one, and some programs
/// write all their numbers so.
pub fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    // The first number that is too large for 64 bits can be told exactly; what is below it and
    // whole is kept exactly.
    let from_float = |float: f64| {
        (float.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&float))
            .then_some(float as u64)
    };
    let whole = number
        .as_u64()
        .or_else(|| number.as_f64().and_then(from_float));
    whole
        .map(Some)
        .ok_or_else(|| D::Error::custom(format!("`{number}` is not a whole number from 0 on")))
}

/// The same within bounds, which the refusal names.
pub fn within<'de, D: Deserializer<'de>>(
    deserializer: D,
    field: &str,
    bounds: RangeInclusive<u64>,
) -> Result<Option<u64>, D::Error> {
    let number = whole(deserializer)?;
    match number.filter(|number| !bounds.contains(number)) {
        Some(number) => Err(D::Error::custom(format!(
            "`{field}` is {} to {}, not {number}",
            bounds.start(),
            bounds.end()
        ))),
        None => Ok(number),
    }
}

/// The same where it must be there.
pub fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    whole(deserializer)?.ok_or_else(|| D::Error::custom("a number is missing"))
}
