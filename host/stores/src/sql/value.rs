//! Parameters of statements, and the columns of their rows.

use std::borrow::Cow;

use rusqlite::types::{ToSqlOutput, ValueRef};
#[cfg(feature = "postgres")]
use tokio_postgres::types::{FromSqlOwned, IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use super::error::Result;
#[cfg(feature = "postgres")]
use super::error::StoreError;

/// A parameter of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SqlValue<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
    Blob(&'a [u8]),
    /// The rows of `@texts`.
    Texts(&'a [String]),
    /// The rows of `@numbers`.
    Numbers(&'a [i64]),
}

/// Makes a slice of [`SqlValue`] from values, which it borrows.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::sql::value::AsSqlValue::as_sql_value(&$value)),*] };
}
pub(crate) use values;

/// A value that can be a parameter.
pub(crate) trait AsSqlValue {
    fn as_sql_value(&self) -> SqlValue<'_>;
}

macro_rules! as_sql_value {
    ($($type:ty: $value:ident => $sql:expr;)*) => { $(
        impl AsSqlValue for $type {
            fn as_sql_value(&self) -> SqlValue<'_> {
                let $value = self;
                $sql
            }
        }
    )* };
}

as_sql_value! {
    i64: value => SqlValue::Integer(*value);
    str: value => SqlValue::Text(value);
    String: value => SqlValue::Text(value);
    [u8]: value => SqlValue::Blob(value);
    Vec<u8>: value => SqlValue::Blob(value);
    [String]: value => SqlValue::Texts(value);
    Vec<String>: value => SqlValue::Texts(value);
    [i64]: value => SqlValue::Numbers(value);
    Vec<i64>: value => SqlValue::Numbers(value);
}

impl<T: AsSqlValue> AsSqlValue for Option<T> {
    fn as_sql_value(&self) -> SqlValue<'_> {
        self.as_ref().map_or(SqlValue::Null, T::as_sql_value)
    }
}

impl<T: AsSqlValue + ?Sized> AsSqlValue for &T {
    fn as_sql_value(&self) -> SqlValue<'_> {
        T::as_sql_value(self)
    }
}

impl rusqlite::ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let list = |list: serde_json::Value| Ok(ToSqlOutput::from(list.to_string()));
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
            Self::Texts(texts) => return list((*texts).into()),
            Self::Numbers(numbers) => return list((*numbers).into()),
        }))
    }
}

#[cfg(feature = "postgres")]
impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Self::Integer(value) => value.to_sql(kind, out),
            Self::Text(text) => storable(text).to_sql(kind, out),
            Self::Blob(bytes) => bytes.to_sql(kind, out),
            Self::Texts(texts) => {
                texts.iter().map(|text| storable(text)).collect::<Vec<_>>().to_sql(kind, out)
            }
            Self::Numbers(numbers) => numbers.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Replaces NUL, which PostgreSQL cannot store, with a character of the same length.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{1A}").into() } else { text.into() }
}

/// A type that a column of every engine can have.
#[cfg(feature = "postgres")]
pub(crate) trait FromColumn: rusqlite::types::FromSql + FromSqlOwned {}
#[cfg(feature = "postgres")]
impl<T: rusqlite::types::FromSql + FromSqlOwned> FromColumn for T {}

/// A type that a column of every engine can have.
#[cfg(not(feature = "postgres"))]
pub(crate) trait FromColumn: rusqlite::types::FromSql {}
#[cfg(not(feature = "postgres"))]
impl<T: rusqlite::types::FromSql> FromColumn for T {}

pub(crate) enum SqlRow<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    #[cfg(feature = "postgres")]
    Postgres(&'a tokio_postgres::Row),
}

impl SqlRow<'_> {
    /// Returns the column at a position, counted from 0.
    pub(crate) fn get<T: FromColumn>(&self, at: usize) -> Result<T> {
        match self {
            Self::Sqlite(row) => Ok(row.get(at)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.try_get(at).map_err(StoreError::invalid),
        }
    }

    /// Returns a count, at most `u32::MAX`.
    pub(crate) fn count(&self, at: usize) -> Result<u32> {
        Ok(u32::try_from(self.get::<i64>(at)?).unwrap_or(u32::MAX))
    }
}
