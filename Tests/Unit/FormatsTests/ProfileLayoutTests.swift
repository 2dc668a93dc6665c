import AttoATT
import AttoGATT
import TestSupport
import Testing

@testable import AttoFormats

extension ProfileLayout {
  /// The handles and types of the profile's attributes.
  var attributes: [(handle: AttributeHandle, type: BluetoothUUID)] {
    services.flatMap { service in
      [(service.handle!, service.isPrimary ? .primaryService : .secondaryService)]
        + service.includes.map { ($0.handle!, .include) }
        + service.characteristics.flatMap { characteristic in
          [
            (characteristic.handle!, .characteristic),
            (characteristic.valueHandle!, characteristic.uuid),
          ] + characteristic.descriptors.map { ($0.handle!, $0.uuid) }
        }
    }
  }
}

extension ServiceDefinition {
  var range: HandleRange { HandleRange(handle!, endHandle!)! }
}

/// The handles of a profile's attributes.
@Suite(.sideBySide) struct ProfileLayoutTests {
  static func layout(_ json: String) throws -> ProfileLayout {
    try Profile(json: Array(json.utf8)).layout()
  }

  /// Handles and types: `0001:2800 0002:2803`.
  static func map(_ layout: ProfileLayout) -> String {
    layout.attributes.map { "\($0.handle):\($0.type)".dropFirst(2) }.joined(separator: " ")
  }

  /// UUIDs and ranges: `1800 0x0001-0x0005`.
  static func automatic(_ layout: ProfileLayout) -> [String] {
    layout.automaticServices.map { "\($0.uuid) \($0.range)" }
  }

  @Test func laysOutACompleteService() throws {
    let layout = try Self.layout(
      #"""
      { "name": "Strap", "mtu": 517,
        "advertising": {"localName": "Strap", "serviceUUIDs": ["180D"]},
        "services": [
          { "uuid": "180D", "primary": true, "handle": "0x0010", "includes": ["0x0001"],
            "characteristics": [
              { "uuid": "2A37", "handle": "0x0012", "valueHandle": "0x0013", "properties": ["notify"],
                "value": "hex:0048", "maxLength": 20, "fixedLength": false, "permissions": ["read", "readEncrypted"],
                "descriptors": [{"uuid": "2901", "handle": "0x0015", "value": "text:Heart rate", "permissions": ["read"]}],
                "behaviour": {"notifyEveryMilliseconds": 1000, "readError": "0x80", "delayMilliseconds": 50} } ] } ] }
      """#)
    #expect(
      Self.map(layout) == "0010:2800 0011:2802 0012:2803 0013:2A37 0014:2902 0015:2901")
    #expect(Self.automatic(layout) == ["1800 0x0001-0x0005", "1801 0x0006-0x000F"])
    let service = try #require(layout.services.first)
    #expect(service.range == HandleRange(0x0010, 0x0015))
    #expect(
      service.includes == [
        IncludeDefinition(
          service: 0x0001, handle: 0x0011,
          target: IncludeDefinition.Target(endHandle: 0x0005, uuid: 0x1800))
      ])
    let limits = ValueLimits(maximumLength: 20)
    let characteristic = try #require(service.characteristics.first)
    #expect(characteristic.properties == .notify)
    #expect(characteristic.value == .application(limits))
    #expect(
      characteristic.permissions == AttributePermissions(read: .requires(.init(security: .medium))))
    var behaviour = Profile.Behaviour()
    behaviour.notifyEvery = .seconds(1)
    behaviour.readError = ErrorCode(0x80)
    behaviour.delay = .milliseconds(50)
    #expect(
      layout.behaviours == [
        ProfileLayout.ScriptedValue(
          handle: 0x0013, behaviour: behaviour, echo: nil, value: [0x00, 0x48], limits: limits)
      ])
  }

  @Test func addedDescriptorsFollowTheValueIfThereIsRoom() throws {
    func map(_ descriptors: String) throws -> String {
      Self.map(
        try Self.layout(
          #"{"automatic": false, "services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", "properties": ["notify", "reliableWrite"], "descriptors": [\#(descriptors)]}]}]}"#
        ))
    }
    let start = "0001:2800 0002:2803 0003:2A37 "
    #expect(try map("") == start + "0004:2902 0005:2900")
    #expect(try map(#"{"uuid": "2901"}"#) == start + "0004:2902 0005:2900 0006:2901")
    #expect(
      try map(#"{"uuid": "2901", "handle": "0x0006"}"#) == start + "0004:2902 0005:2900 0006:2901")
    #expect(
      try map(#"{"uuid": "2901", "handle": "0x0005"}"#) == start + "0005:2901 0006:2902 0007:2900")
    #expect(
      try map(#"{"uuid": "2901"}, {"uuid": "2902", "handle": "0x0006"}"#)
        == start + "0004:2900 0005:2901 0006:2902")
    #expect(try map(#"{"uuid": "2900", "value": "hex:0100"}"#) == start + "0004:2902 0005:2900")
  }

  @Test func cccdFalseAddsNoConfiguration() throws {
    let layout = try Self.layout(
      #"{"automatic": false, "services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", "properties": ["notify"], "cccd": false}]}]}"#
    )
    #expect(Self.map(layout) == "0001:2800 0002:2803 0003:2A37")
  }

  @Test func permissionsFollowFromTheProperties() throws {
    /// The permissions of the value, then of each descriptor.
    func permissions(_ keys: String) throws -> [AttributePermissions] {
      try Self.layout(
        #"{"automatic": false, "services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", \#(keys)}]}]}"#
      ).services[0].characteristics.flatMap { [$0.permissions] + $0.descriptors.map(\.permissions) }
    }
    let denied = AttributePermissions()
    #expect(try permissions(#""properties": []"#) == [denied])
    #expect(try permissions(#""properties": ["read"]"#) == [.readOnly])
    #expect(try permissions(#""properties": ["writeWithoutResponse"]"#) == [.writeOnly])
    #expect(try permissions(#""properties": ["authenticatedSignedWrites"]"#) == [.writeOnly])
    #expect(try permissions(#""properties": ["notify"]"#) == [denied, .readWrite])
    #expect(try permissions(#""properties": ["read", "write"], "permissions": []"#) == [denied])
    #expect(
      try permissions(#""properties": ["writableAuxiliaries"], "descriptors": [{"uuid": "2901"}]"#)
        == [denied, .readOnly, .readWrite])
    #expect(
      try permissions(
        #""descriptors": [{"uuid": "2902", "permissions": ["read", "writeEncrypted"], "keySize": 16}]"#
      ) == [
        denied,
        AttributePermissions(read: .open, write: .requires(.init(security: .medium, keySize: 16))),
      ])
  }

  @Test func automaticServicesComeLastIfTheirHandlesAreTaken() throws {
    let layout = try Self.layout(#"{"services": [{"uuid": "180D", "handle": "0x000F"}]}"#)
    #expect(Self.map(layout) == "000F:2800")
    #expect(Self.automatic(layout) == ["1800 0x0010-0x0014", "1801 0x0015-0x001E"])
  }

  @Test func automaticServicesOmitListedOnes() throws {
    let layout = try Self.layout(
      #"{"services": [{"uuid": "1801"}, {"uuid": "180D", "includes": ["1800", "1801"]}]}"#)
    #expect(Self.map(layout) == "0006:2800 0007:2800 0008:2802 0009:2802")
    #expect(Self.automatic(layout) == ["1800 0x0001-0x0005"])
  }

  @Test func echoesAreResolvedByHandleAndUUID() throws {
    for target in ["2A38", "0x0004", "0x0005"] {
      let layout = try Self.layout(
        #"{"automatic": false, "services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", "properties": ["write"], "behaviour": {"echoTo": "\#(target)"}}, {"uuid": "2A38", "properties": ["notify"]}]}]}"#
      )
      #expect(layout.behaviours.map(\.echo) == [0x0005])
    }
  }

  @Test func valuesHaveFourNotations() throws {
    func octets(_ value: String) throws -> [UInt8]? {
      let profile = try Profile(
        json: Array(
          #"{"services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", "value": \#(value)}]}]}"#
            .utf8))
      let value = profile.services[0].characteristics[0].definition.value
      return if case .stored(let octets, _) = value { octets } else { nil }
    }
    #expect(try octets(#""hex:00 48fF""#) == [0x00, 0x48, 0xFF])
    #expect(try octets(#""hex:""#) == [])
    #expect(try octets(#""text:a:é""#) == [0x61, 0x3A, 0xC3, 0xA9])
    #expect(try octets(#""text:\ud83d\ude00""#) == [0xF0, 0x9F, 0x98, 0x80])
    #expect(try octets(#""base64:AEj/""#) == [0x00, 0x48, 0xFF])
    #expect(try octets(#""base64:AEg=""#) == [0x00, 0x48])
    #expect(try octets(#""base64:AA==""#) == [0x00])
    #expect(try octets(#"{"repeat": "3132", "count": 2}"#) == [0x31, 0x32, 0x31, 0x32])
  }

  @Test(.timeLimit(.minutes(5))) func allHandlesCanBeUsed() throws {
    func json(_ count: Int) -> [UInt8] {
      let services = repeatElement(#"{"uuid":"A007"}"#, count: count).joined(separator: ",")
      return Array(#"{"automatic": false, "services": [\#(services)]}"#.utf8)
    }
    let layout = try Profile(json: json(65_535)).layout()
    #expect(layout.attributes.count == 65_535)
    #expect(layout.services.last?.range == HandleRange(0xFFFF, 0xFFFF))
    let error = #expect(throws: ProfileError.self) { try Profile(json: json(65_536)) }
    #expect(error?.path == "services[65535]")
    #expect(error?.expected == "handles up to 0xFFFF")
  }

  /// Services that are added to a running server start at a given handle, unless they state handles.
  @Test func servicesCanStartAtAHandle() throws {
    func map(_ services: String) throws -> String {
      Self.map(
        try Profile(json: Array(#"{"services": [\#(services)]}"#.utf8)).layout(from: 0x0100))
    }
    let echo =
      #"{"uuid": "2A38", "properties": ["write", "notify"], "behaviour": {"echoTo": "2A38"}}"#
    #expect(
      try map(#"{"uuid": "180D", "includes": ["1800"], "characteristics": [\#(echo)]}"#)
        == "0100:2800 0101:2802 0102:2803 0103:2A38 0104:2902")
    #expect(
      try map(#"{"uuid": "180D"}, {"uuid": "180F", "handle": "0x0040"}"#) == "0010:2800 0040:2800")
    #expect(
      try map(#"{"uuid": "180D"}, {"uuid": "180F", "endHandle": "0x0040"}"#)
        == "0010:2800 0011:2800")
  }

  @Test func burstValuesAreNumbered() {
    #expect(Profile.Burst.value(0, size: 6) == [0, 0, 0, 0, 4, 5])
    #expect(Profile.Burst.value(0x0203, size: 6) == [0x03, 0x02, 0, 0, 0x07, 0x08])
    #expect(Profile.Burst.value(.max, size: 5) == [0xFF, 0xFF, 0xFF, 0xFF, 0x03])
  }
}
