//! Secrets and signatures of webhooks, by the convention of Standard Webhooks: receivers in every
//! language have a library for it.

use crate::error::AppError;
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use rebut_engine::{outbox::Secret, seal::Seal};
use sha2::Sha256;

const PREFIX: &str = "whsec_";

pub fn new_secret() -> Result<Secret, AppError> {
    let bytes = Seal::new_secret()
        .map_err(|error| AppError::failed(format!("no randomness for a secret: {error}")))?;
    Ok(Secret::new(format!("{PREFIX}{}", STANDARD.encode(bytes))))
}

/// The value of `webhook-signature`: what the receiver computes too, from the headers `webhook-id`
/// and `webhook-timestamp` and the body as it is.
pub fn signature(
    secret: &Secret,
    id: &str,
    timestamp: i64,
    body: &str,
) -> Result<String, Unusable> {
    let key = secret
        .reveal()
        .strip_prefix(PREFIX)
        .and_then(|text| STANDARD.decode(text).ok());
    let key = key.filter(|key| !key.is_empty()).ok_or(Unusable)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| Unusable)?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body.as_bytes());
    Ok(format!(
        "v1,{}",
        STANDARD.encode(mac.finalize().into_bytes())
    ))
}

/// The secret in the database was changed by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret of this webhook cannot be used; remove the webhook and make it anew")]
pub struct Unusable;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_as_others_do() {
        // Computed with Python: hmac.digest(b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), message,
        // "sha256").
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
        let signed = signature(
            &secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(
            signed.as_deref(),
            Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        );
        for bad in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%"] {
            assert_eq!(
                signature(&Secret::new(bad.to_owned()), "a", 1, "{}"),
                Err(Unusable),
                "{bad}"
            );
        }
        let (one, two) = (
            new_secret().expect("randomness"),
            new_secret().expect("randomness"),
        );
        assert!(
            one != two && signature(&one, "a", 1, "{}").is_ok(),
            "each is new and can be used"
        );
    }
}
