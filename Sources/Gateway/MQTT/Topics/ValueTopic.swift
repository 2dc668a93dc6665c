import Atto
import AttoATT
import AttoFormats
import AttoGateway
import AttoText
import Glibc

/// The topic of a characteristic's values, and how they are written.
struct ValueTopic: Sendable {
  let topic: String
  let format: ValueFormat?
  let style: Configuration.MQTT.ValueStyle
  /// Whether the broker keeps the last value.
  let isRetained: Bool
  /// The end of each object: `,"via":"hall"}`.
  private let end: [UInt8]

  init(
    _ topic: String, of uuid: BluetoothUUID, decodes: Bool, style: Configuration.MQTT.ValueStyle,
    isRetained: Bool = false, via gateway: String
  ) {
    self.topic = topic
    self.style = style
    self.isRetained = isRetained
    format = decodes && style == .json ? ValueFormat(of: uuid) : nil
    end = Array(",\"via\":".utf8) + JSON.string(gateway).octets + Array("}".utf8)
  }

  /// A value for the outbox.
  func value(_ octets: [UInt8], at time: WallTime) -> KeptValue {
    var payload: [UInt8]
    switch style {
    case .raw: payload = octets
    case .hex: payload = Array(Hex.text(octets).utf8)
    case .json:
      payload = []
      payload.reserveCapacity(96 + 2 * octets.count)
      payload += "{\"value\":\"".utf8
      Self.write(hex: octets, to: &payload)
      payload.append(UInt8(ascii: "\""))
      for field in Self.fields(octets, format) {
        payload.append(UInt8(ascii: ","))
        payload += JSON.string(field.name).octets
        payload.append(UInt8(ascii: ":"))
        payload += field.value.text.utf8
      }
      payload += ",\"time\":\"".utf8
      time.write(to: &payload)
      payload.append(UInt8(ascii: "\""))
      payload += end
    }
    return KeptValue(
      number: 0, time: time.milliseconds, topic: topic, payload: payload, isJSON: style == .json,
      isRetained: isRetained)
  }

  private static func write(hex octets: [UInt8], to text: inout [UInt8]) {
    for octet in octets {
      for digit in [octet >> 4, octet & 0xF] {
        text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    }
  }

  /// `decoded` and `units`, or `fault`, in the form of the command's `--json`; nothing if the format is not known.
  static func fields(
    _ octets: [UInt8], _ format: ValueFormat?
  ) -> [(name: String, value: JSON)] {
    guard let format else { return [] }
    do throws(ValueFault) {
      let value = try format.decode(octets)
      let units = value.fields.compactMap { field in
        field.unit.map { (name: field.name, value: JSON.string($0)) }
      }
      let decoded = JSON.object(value.fields.map { ($0.name, JSON($0.content)) })
      return [("decoded", decoded)] + (units.isEmpty ? [] : [("units", .object(units))])
    } catch {
      return [("fault", .string(error.description))]
    }
  }
}

/// The time of the day, in UTC.
struct WallTime: Sendable {
  /// Since 1970.
  let milliseconds: Int64
  /// `2026-11-22T22:01:36.`
  fileprivate let second: String

  /// `2026-11-22T22:01:36.123Z`
  var text: String {
    var octets: [UInt8] = []
    write(to: &octets)
    return String(decoding: octets, as: UTF8.self)
  }

  /// Appends the text.
  func write(to octets: inout [UInt8]) {
    octets += second.utf8
    let zero = UInt8(ascii: "0")
    let digits = milliseconds % 1000
    octets.append(zero + UInt8(digits / 100))
    octets.append(zero + UInt8(digits / 10 % 10))
    octets.append(zero + UInt8(digits % 10))
    octets.append(UInt8(ascii: "Z"))
  }

  /// Writes the second anew only when it has passed.
  struct Clock {
    private var second: Int64 = .min
    private var prefix = ""

    mutating func now() -> WallTime {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return at(Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    mutating func at(_ milliseconds: Int64) -> WallTime {
      let milliseconds = max(0, milliseconds)
      let seconds = milliseconds / 1000
      if seconds != second {
        second = seconds
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
        prefix =
          "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
          + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))."
      }
      return WallTime(milliseconds: milliseconds, second: prefix)
    }
  }
}
