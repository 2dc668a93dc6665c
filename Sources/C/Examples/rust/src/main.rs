//! Discovers a server, reads what can be read, and prints notified values.
//!
//!     cargo run -- unix:/tmp/strap 3

mod atto;

use atto::{sys, Connection};
use std::io;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let wanted = words.get(2).and_then(|word| word.parse().ok()).unwrap_or(0);
    let mut connection = Connection::open(words.get(1).map_or("", String::as_str))?;
    connection.exchange_mtu()?;
    connection.discover_all()?;
    // Procedures that have not completed, and notified values.
    let (mut open, mut values) = (2, 0);
    while open > 0 || values < wanted {
        let event = connection.next()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let fields = event.fields;
        if event.is(sys::ATTO_EVENT_SERVICE) {
            let (first, last) = (fields.handle, fields.end_handle);
            println!("service 0x{first:04X}-0x{last:04X} {}", event.uuid());
        } else if event.is(sys::ATTO_EVENT_CHARACTERISTIC) {
            println!("  0x{:04X} {}", fields.value_handle, event.uuid());
            let properties = u32::from(fields.properties);
            if properties & sys::ATTO_READ != 0 {
                connection.read_long(fields.value_handle)?;
                open += 1;
            }
            if wanted > 0 && properties & sys::ATTO_NOTIFY != 0 {
                connection.subscribe(fields.value_handle)?;
                open += 1;
            }
        } else if event.is(sys::ATTO_EVENT_VALUE) || event.is(sys::ATTO_EVENT_NOTIFICATION) {
            let value: String = event
                .value()
                .iter()
                .map(|octet| format!(" {octet:02x}"))
                .collect();
            println!("0x{:04X} ={value}", fields.handle);
            values += i32::from(event.is(sys::ATTO_EVENT_NOTIFICATION));
        } else if event.is(sys::ATTO_EVENT_COMPLETE) {
            open -= 1;
            match fields.result {
                sys::ATTO_ERR_ATT => {
                    println!(
                        "0x{:04X}: {}",
                        fields.handle,
                        atto::att_error_name(fields.att_error)
                    );
                }
                result => atto::check(result)?,
            }
        }
    }
    Ok(())
}
