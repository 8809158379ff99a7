//! The same story on every server.

use rstest::rstest;
use weir_bucket::{AzureAccess, AzureService, Bucket, Buckets, GcsService, Object, Service};
use weir_http::Profile;
use weir_testkit::{AZURITE_KEY, BucketProgram, BucketServer};

use crate::{content, s3};

fn open(program: BucketProgram, server: &BucketServer, bucket: &str) -> Bucket {
    let endpoint = server.endpoint();
    let service = match program {
        BucketProgram::Moto | BucketProgram::GoFakeS3 => {
            return s3(&endpoint, bucket, Some(("AKID", "secret")));
        }
        BucketProgram::FakeGcs => {
            Service::Gcs(GcsService { emulator: Some(endpoint.parse().unwrap()), token: None })
        }
        BucketProgram::Azurite => {
            Service::Azure(AzureService { endpoint, access: AzureAccess::AccountKey(AZURITE_KEY.into()) })
        }
    };
    Buckets::default().open(bucket, service, &Profile::default()).unwrap()
}

fn keys(objects: &[Object]) -> Vec<&str> {
    let mut keys: Vec<_> = objects.iter().map(|object| object.key.as_str()).collect();
    keys.sort_unstable();
    keys
}

#[rstest]
#[case(BucketProgram::Moto)]
#[case(BucketProgram::GoFakeS3)]
#[case(BucketProgram::FakeGcs)]
#[case(BucketProgram::Azurite)]
#[tokio::test]
async fn listed_and_read(#[case] program: BucketProgram) {
    let Some(server) = BucketServer::start(program).await.unwrap() else { return };
    server.create("apps-1").await.unwrap();
    assert!(open(program, &server, "apps-1").exists().await.unwrap());
    assert!(!open(program, &server, "missing-1").exists().await.unwrap());
    let bucket = open(program, &server, "apps-1");
    assert_eq!(bucket.list("", 10).await.unwrap(), []);

    for (key, text) in [("a.yaml", "a"), ("apps/b c+ü.yaml", "b"), ("apps/d.yaml", "d"), ("apps2/e", "e")] {
        server.put("apps-1", key, text).await.unwrap();
    }
    let all = bucket.list("", 10).await.unwrap();
    assert_eq!(keys(&all), ["a.yaml", "apps/b c+ü.yaml", "apps/d.yaml", "apps2/e"]);
    let some = bucket.list("apps/", 10).await.unwrap();
    assert_eq!(keys(&some), ["apps/b c+ü.yaml", "apps/d.yaml"]);
    assert_eq!(keys(&bucket.list("apps", 10).await.unwrap()).len(), 3, "a prefix is no folder");
    assert_eq!(bucket.list("", 3).await.unwrap_err().to_string(), "more than 3 objects");

    for object in &some {
        let (text, etag) = content(&bucket, object).await.unwrap();
        assert_eq!((text.len() as u64, etag), (object.size, object.etag.clone()), "{object:?}");
    }
    // Listed again, nothing has changed (DEV 6); changed, it comes with the etag that the next listing has.
    assert_eq!(bucket.list("apps/", 10).await.unwrap(), some);
    server.put("apps-1", "apps/d.yaml", "changed").await.unwrap();
    let old = some.iter().find(|object| object.key == "apps/d.yaml").unwrap();
    let (text, etag) = content(&bucket, old).await.unwrap();
    let new = bucket.list("apps/d", 10).await.unwrap();
    assert_eq!((text.as_str(), &etag), ("changed", &new[0].etag));
    assert_ne!(old.etag, etag);
    server.delete("apps-1", "apps/d.yaml").await.unwrap();
    assert_eq!(content(&bucket, old).await, None);
    assert_eq!(content(&bucket, &Object::newest(".sourceignore")).await, None);
}

#[rstest]
#[case(BucketProgram::Moto)]
#[case(BucketProgram::GoFakeS3)]
#[tokio::test]
async fn more_than_a_page(#[case] program: BucketProgram) {
    let Some(server) = BucketServer::start(program).await.unwrap() else { return };
    server.create("many-1").await.unwrap();
    for index in 0..1003 {
        server.put("many-1", &format!("dir/{index}"), "x").await.unwrap();
    }
    // Object that consoles make for a folder.
    server.put("many-1", "dir/", "").await.unwrap();
    let bucket = open(program, &server, "many-1");
    let objects = bucket.list("dir/", 2000).await.unwrap();
    assert_eq!(objects.len(), 1004);
    assert!(keys(&objects).contains(&"dir/"), "a marker of a folder is not taken for a file");
}
