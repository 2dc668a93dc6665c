import Atto
import AttoFormats

/// A value as results show it: raw, and decoded where its type is known.
package struct ShownValue {
  let octets: [UInt8]
  private let decoded: Result<DecodedValue, ValueFault>?

  /// - Parameters:
  ///   - uuid: the type of the attribute; nil if it is not known.
  ///   - presentation: the format that the peer describes, for types that the SIG does not define.
  ///   - isCut: whether the value may be longer, and so not decodable.
  package init(
    _ octets: [UInt8], of uuid: BluetoothUUID?, presentation: ValueFormat? = nil,
    isCut: Bool = false
  ) {
    self.octets = octets
    let format = uuid.flatMap { ValueFormat(of: $0) } ?? presentation
    let decoded = format.map { format in
      Result { () throws(ValueFault) in try format.decode(octets) }
    }
    if isCut, case .failure = decoded { self.decoded = nil } else { self.decoded = decoded }
  }

  /// `0048  72 bpm`
  package var text: String {
    switch decoded {
    case nil: Shown.value(octets)
    case .success(let value): Shown.hex(octets) + (octets.isEmpty ? "(empty)  " : "  ") + "\(value)"
    case .failure(let fault): Shown.value(octets) + "  (\(fault))"
    }
  }

  /// The fields `value`, and `decoded`, `units` and `text`, or `fault`.
  package var json: JSONObject {
    let raw: JSONObject = ["value": Shown.hex(octets)]
    switch decoded {
    case nil: return raw
    case .failure(let fault): return raw.adding(["fault": fault.description])
    case .success(let value):
      let units = value.fields.compactMap { field in field.unit.map { (field.name, $0) } }
      return raw.adding([
        "decoded": JSONObject(value.fields.map { ($0.name, $0.content.json) }),
        "units": units.isEmpty ? nil : JSONObject(units.map { ($0.0, $0.1) }),
        "text": value.description,
      ])
    }
  }
}

extension DecodedValue.Content {
  /// nil for no value, which JSON leaves out.
  fileprivate var json: (any Encodable)? {
    switch self {
    case .number(let number): number.integer.map { $0 as any Encodable } ?? number.double
    case .double(let number): number
    case .hex(let number, _): number
    case .word(let word): word
    case .words(let words): words
    case .text(let text): text
    case .list(let contents): contents.compactMap { $0.json.map { JSONValue(value: $0) } }
    case .unknown: nil
    }
  }
}
