import Atto
import AttoGATT
import TestSupport
import Testing

@testable import AttoCommandLine

/// References to attributes, and the attributes of a database that they mean.
@Suite(.oneByOne) struct AttributeReferenceTests {
  private let database = RemoteDatabase(services: [
    Service(
      handle: 1, endGroupHandle: 9, uuid: 0x180F,
      characteristics: [
        Characteristic(
          declarationHandle: 2, valueHandle: 3, endGroupHandle: 5, properties: .notify,
          uuid: 0x2A19,
          descriptors: [Descriptor(handle: 4, uuid: 0x2902), Descriptor(handle: 5, uuid: 0x2901)]),
        Characteristic(
          declarationHandle: 6, valueHandle: 7, endGroupHandle: 9, properties: .read, uuid: 0x2A1B,
          descriptors: [Descriptor(handle: 8, uuid: 0x2902)]),
      ]),
    Service(
      handle: 10, endGroupHandle: 12, uuid: 0x1805,
      characteristics: [
        Characteristic(
          declarationHandle: 11, valueHandle: 12, endGroupHandle: 12, properties: .read,
          uuid: 0x2A19)
      ]),
  ])

  @Test(
    arguments: [
      ("3", [3]), ("2A19", [3, 12]), ("2A19@180F", [3]), ("2A19@1", [3]), ("2A19@0x0001", [3]),
      ("battery level@current time", [12]), ("battery level@uuid:1805", [12]),
      ("uuid:2902", [4, 8]), ("2902@2A19", [4]),
      ("uuid:2902@2A19", [4]), ("uuid:2902@2A19@180F", [4]), ("uuid:2902@180F@2A1B", [8]),
      ("uuid:2902@6", [8]), ("uuid:2902@7", [8]), ("uuid:2902@180F", [4, 8]),
      ("uuid:2902@10", []), ("uuid:2901@2A1B", []), ("7@180F", [7]), ("7@1805", []),
      ("2A19@1805", [12]), ("2A19@0x1805", []),
    ] as [(String, [UInt16])])
  func matches(_ text: String, _ handles: [UInt16]) throws {
    let found = try AttributeReference(argument: text).matches(in: database)
    #expect(found.map(\.handle.rawValue) == handles)
  }
}
