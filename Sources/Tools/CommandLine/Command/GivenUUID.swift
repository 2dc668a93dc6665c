import Atto
import AttoFormats

/// A UUID that is sent, and how it was given.
package struct GivenUUID: Sendable {
  package let uuid: BluetoothUUID
  /// Whether it was given with more than 16 bits.
  package let isLong: Bool

  package static let asIs = Option.flag(
    "uuid-as-is", "Send an assigned UUID that is given in full as 128 bits.")

  fileprivate init(uuid: BluetoothUUID, isLong: Bool) {
    self.uuid = uuid
    self.isLong = isLong
  }

  /// The value of an option; short without `--uuid-as-is`.
  package init?(_ arguments: Arguments, _ option: Option<GivenUUID?>) throws(UsageError) {
    guard let given = arguments[option] else {
      try arguments.forbid([Self.asIs], "requires --\(option.description.name)")
      return nil
    }
    self.init(uuid: given.uuid, isLong: given.isLong && arguments[Self.asIs])
  }
}

extension Option where Value == GivenUUID? {
  /// A UUID for ``GivenUUID/init(_:_:)``.
  package static func sentUUID(
    _ name: String, _ kinds: AssignedNumbers.Kind..., summary: String
  ) -> Option {
    value(name, "UUID", summary, expected: BluetoothUUID.expectation) { text in
      let digits = text.hasPrefix("0x") || text.hasPrefix("0X") ? text.dropFirst(2) : text[...]
      let isLong = BluetoothUUID(text) != nil && digits.utf8.count > 4
      return BluetoothUUID(argument: text, kinds: kinds).map {
        GivenUUID(uuid: $0, isLong: isLong)
      }
    }
  }
}
