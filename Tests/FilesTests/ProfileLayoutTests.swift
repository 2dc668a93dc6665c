import ATT
import Testing

@testable import Files

/// Which handle everything gets.
@Suite struct ProfileLayoutTests {
  static func layout(_ json: String) throws -> ProfileLayout {
    try Profile(json: Array(json.utf8)).layout()
  }

  /// Handles and types: `0001:2800 0002:2803`.
  static func map(_ layout: ProfileLayout) -> String {
    layout.attributes.map { "\($0.handle):\($0.type)".dropFirst(2) }.joined(separator: " ")
  }

  @Test func theExampleOfTheDesign() throws {
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
    #expect(layout.automaticServices.genericAccess == HandleRange(0x0001, 0x0005))
    #expect(layout.automaticServices.genericAttribute == HandleRange(0x0006, 0x000F))
    #expect(
      layout.attributes[1].content
        == .include(
          ProfileLayout.Service(
            uuid: 0x1800, isPrimary: true, range: HandleRange(0x0001, 0x0005)!)))
    #expect(
      layout.attributes[2].content
        == .characteristic(properties: .notify, valueHandle: 0x0013, uuid: 0x2A37))
    var behaviour = Profile.Behaviour()
    behaviour.notifyEvery = .seconds(1)
    behaviour.readError = ErrorCode(0x80)
    behaviour.delay = .milliseconds(50)
    #expect(
      layout.attributes[3].content
        == .value(
          ProfileLayout.Storage(
            bytes: [0x00, 0x48], maxLength: 20, isFixedLength: false,
            permissions: [.read, .readEncrypted], keySize: nil), behaviour, echo: nil))
    #expect(layout.services.map(\.range) == [HandleRange(0x0010, 0x0015)!])
  }

  @Test func addedDescriptorsFollowTheValueWhereThereIsRoom() throws {
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

  @Test func aFalseConfigurationAddsNone() throws {
    let layout = try Self.layout(
      #"{"automatic": false, "services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", "properties": ["notify"], "cccd": false}]}]}"#
    )
    #expect(Self.map(layout) == "0001:2800 0002:2803 0003:2A37")
  }

  @Test func permissionsFollowFromTheProperties() throws {
    func permissions(_ keys: String) throws -> [Profile.Permissions] {
      try Self.layout(
        #"{"automatic": false, "services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", \#(keys)}]}]}"#
      ).attributes.compactMap {
        switch $0.content {
        case .value(let storage, _, _), .descriptor(let storage), .clientConfiguration(let storage):
          storage.permissions
        default: nil
        }
      }
    }
    #expect(try permissions(#""properties": []"#) == [[]])
    #expect(try permissions(#""properties": ["read"]"#) == [.read])
    #expect(try permissions(#""properties": ["writeWithoutResponse"]"#) == [.write])
    #expect(try permissions(#""properties": ["authenticatedSignedWrites"]"#) == [.write])
    #expect(try permissions(#""properties": ["notify"]"#) == [[], [.read, .write]])
    #expect(try permissions(#""properties": ["read", "write"], "permissions": []"#) == [[]])
    #expect(
      try permissions(#""properties": ["writableAuxiliaries"], "descriptors": [{"uuid": "2901"}]"#)
        == [[], .read, [.read, .write]])
    #expect(
      try permissions(
        #""descriptors": [{"uuid": "2902", "permissions": ["read", "writeEncrypted"], "keySize": 16}]"#
      )
        == [[], [.read, .writeEncrypted]])
  }

  @Test func automaticServicesComeLastWhereTheirHandlesAreTaken() throws {
    let layout = try Self.layout(#"{"services": [{"uuid": "180D", "handle": "0x000F"}]}"#)
    #expect(Self.map(layout) == "000F:2800")
    #expect(layout.automaticServices.genericAccess == HandleRange(0x0010, 0x0014))
    #expect(layout.automaticServices.genericAttribute == HandleRange(0x0015, 0x001E))
  }

  @Test func automaticServicesLeaveOutWhatTheProfileLists() throws {
    let layout = try Self.layout(
      #"{"services": [{"uuid": "1801"}, {"uuid": "180D", "includes": ["1800", "1801"]}]}"#)
    #expect(Self.map(layout) == "0006:2800 0007:2800 0008:2802 0009:2802")
    #expect(layout.automaticServices.genericAccess == HandleRange(0x0001, 0x0005))
    #expect(layout.automaticServices.genericAttribute == nil)
  }

  @Test func echoesAreResolvedByHandleAndUUID() throws {
    for target in ["2A38", "0x0004", "0x0005"] {
      let layout = try Self.layout(
        #"{"automatic": false, "services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", "properties": ["write"], "behaviour": {"echoTo": "\#(target)"}}, {"uuid": "2A38", "properties": ["notify"]}]}]}"#
      )
      guard case .value(_, _, let echo) = layout.attributes[2].content else {
        Issue.record("no value")
        return
      }
      #expect(echo == 0x0005)
    }
  }

  @Test func valuesHaveFourForms() throws {
    func bytes(_ value: String) throws -> [UInt8] {
      let profile = try Profile(
        json: Array(
          #"{"services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", "value": \#(value)}]}]}"#
            .utf8))
      return profile.services[0].characteristics[0].value.bytes
    }
    #expect(try bytes(#""hex:00 48fF""#) == [0x00, 0x48, 0xFF])
    #expect(try bytes(#""hex:""#) == [])
    #expect(try bytes(#""text:a:é""#) == [0x61, 0x3A, 0xC3, 0xA9])
    #expect(try bytes(#""text:\ud83d\ude00""#) == [0xF0, 0x9F, 0x98, 0x80])
    #expect(try bytes(#""base64:AEj/""#) == [0x00, 0x48, 0xFF])
    #expect(try bytes(#""base64:AEg=""#) == [0x00, 0x48])
    #expect(try bytes(#""base64:AA==""#) == [0x00])
    #expect(try bytes(#"{"repeat": "3132", "count": 2}"#) == [0x31, 0x32, 0x31, 0x32])
  }

  @Test(.timeLimit(.minutes(5))) func everyHandleCanBeTaken() throws {
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

  @Test func aBurstNumbersItsNotifications() {
    let burst = Profile.Burst(count: 300, size: 6, on: .write)
    #expect(burst.value(0, limit: 20) == [0, 0, 0, 0, 4, 5])
    #expect(burst.value(0x0203, limit: 20) == [0x03, 0x02, 0, 0, 0x07, 0x08])
    #expect(burst.value(.max, limit: 5) == [0xFF, 0xFF, 0xFF, 0xFF, 0x03])
  }
}
