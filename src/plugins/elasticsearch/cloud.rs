//! `cloud_id`: the address of a deployment in Elastic's cloud, as its console shows it.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The port of a deployment that names none.
const DEFAULT_PORT: &str = "443";

/// The URL of the deployment: `label:base64` or `base64` of `host[:port]$id[:port]$…`.
pub fn url(cloud_id: &str) -> Result<String, String> {
    let encoded = cloud_id.rsplit_once(':').map_or(cloud_id, |(_, encoded)| encoded);
    let decoded = decoded(encoded).ok_or("`cloud_id` is not label:base64 as the console shows it")?;
    let segments: Vec<&str> = decoded.split('$').collect();
    let [host, deployment, _, ..] = segments.as_slice() else {
        return Err("cloud_id, after decoding, is invalid: it has the form <host>$<elasticsearch>$<kibana>".to_owned());
    };
    for (segment, name) in segments.iter().zip(["host", "elasticsearch", "kibana"]) {
        if segment.is_empty() {
            return Err(format!("cloud_id, after decoding, is invalid: its {name} segment is empty"));
        }
    }
    let (host, host_port) = parted(host);
    let (deployment, port) = parted(deployment);
    if deployment == "undefined" {
        return Err("cloud_id, after decoding, is invalid: its elasticsearch segment is `undefined`".to_owned());
    }
    Ok(format!("https://{deployment}.{host}:{}", port.or(host_port).unwrap_or(DEFAULT_PORT)))
}

fn parted(segment: &str) -> (&str, Option<&str>) {
    segment.split_once(':').map_or((segment, None), |(name, port)| (name, Some(port)))
}

/// Both alphabets are seen in the wild, with and without padding.
fn decoded(text: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engines = [&alphabet::URL_SAFE, &alphabet::STANDARD].map(|letters| GeneralPurpose::new(letters, config));
    let bytes = engines.iter().find_map(|engine| engine.decode(text.trim()).ok())?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    fn of(plain: &str) -> Result<String, String> {
        url(&format!("my-deployment:{}", BASE64_STANDARD.encode(plain)))
    }

    #[test]
    fn ports_come_from_the_nearest_place() {
        assert_eq!(of("cloud.example.org$abc$kib"), Ok("https://abc.cloud.example.org:443".to_owned()));
        assert_eq!(of("cloud.example.org:9243$abc$kib"), Ok("https://abc.cloud.example.org:9243".to_owned()));
        assert_eq!(of("h:1$abc:2$kib:3$more"), Ok("https://abc.h:2".to_owned()));
        assert_eq!(url(&BASE64_STANDARD.encode("h$a$k")), Ok("https://a.h:443".to_owned()));
    }

    #[test]
    fn what_is_no_deployment_is_told() {
        for (plain, words) in [
            ("h$abc", "after decoding, is invalid"),
            ("h$$k", "elasticsearch segment is empty"),
            ("h$undefined$k", "undefined"),
        ] {
            assert!(of(plain).is_err_and(|e| e.contains(words)), "{plain}");
        }
        assert!(url("label:???").is_err());
    }
}
