import AttoLinks
import AttoRadio

@testable import AttoVirtualRadio

/// What radios of the virtual air read of each other. The input is one octet (even: a control, odd:
/// an advertising file) and what was read.
///
/// Rules: a control that is read has the same octets again; a file that is read gives the same
/// record from its own text; neither is read beyond its limit.
enum AirTarget {
  static func take(_ input: [UInt8]) {
    guard let kind = input.first else { return }
    if kind & 1 == 0 { control(input.dropFirst()) } else { record(Array(input.dropFirst())) }
  }

  private static func control(_ octets: ArraySlice<UInt8>) {
    guard let control = AirControl(octets: octets) else { return }
    Failure.unless(octets.count <= AirControl.lengthLimit, "no control is longer")
    Failure.unless(
      control.octets.elementsEqual(octets), "a control has the same octets again",
      "\(hex(octets)), then \(hex(control.octets))")
    Failure.unless(
      AirControl(octets: control.octets[...]) == control, "a control reads back", hex(octets))
  }

  private static func record(_ octets: [UInt8]) {
    guard let record = AirRecord(parsing: octets) else { return }
    Failure.unless(octets.count <= AirRecord.lengthLimit, "no file is longer")
    Failure.unless(
      AirRecord(parsing: Array(record.text.utf8)) == record, "a record reads back", record.text)
  }

  static var seeds: [[UInt8]] {
    let timing = (try? AirTiming("phy=2M&interval=15ms&dle=251&per=0.01&seed=7"))?.octets ?? []
    let controls: [[UInt8]] = [
      [1, 1, 1, 2, 3, 4, 5, 0xC6] + Array("Strap".utf8), [2], [3, 0x13], [4, 2, 16], [5, 1, 0],
      [6, 0x13], [7, 3, 2, 16, 4, 1, 2, 3, 4, 5, 6, 7, 8], [8, 1, 0, 0, 1, 0],
      [9, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], [10, 5], [11] + timing,
    ]
    var record = AirRecord()
    record.name = "Strap"
    record.advertisement = [2, 1, 6]
    return controls.map { [0] + $0 } + [[1] + Array(record.text.utf8)]
  }
}
