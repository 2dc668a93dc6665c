import TestSupport
import AttoATT
import AttoGATT
import Foundation
import Testing

@testable import AttoFormats

/// The profiles of the repository.
@Suite(.sideBySide) struct FixtureTests {
  @Test(arguments: Fixtures.profiles) func handlesIncrease(_ name: String) throws {
    let layout = try Profile(contentsOfFile: Fixtures.path(name)).layout()
    let handles = layout.attributes.map(\.handle)
    #expect(zip(handles, handles.dropFirst()).allSatisfy { $0 < $1 })
    let ranges = layout.services.map(\.range)
    #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.end < $1.start })
    for service in layout.automaticServices {
      #expect(!handles.contains { service.range.contains($0) })
    }
  }

  @Test func referenceHas820AttributesWithoutGaps() throws {
    let layout = try Profile(contentsOfFile: Fixtures.path("reference-820.json")).layout()
    #expect(layout.attributes.count == 820)
    #expect(layout.attributes.first?.handle == 0x0001)
    #expect(layout.attributes.last?.handle == 820)
    #expect(layout.services.count == 20)
    #expect(layout.attributes.count { $0.type == 0x2803 } == 200)
    #expect(layout.attributes.count { $0.type == 0x2902 } == 200)
    #expect(layout.attributes.count { $0.type == 0x2901 } == 200)
    #expect(layout.attributes.allSatisfy { $0.type.short != nil })
    #expect(layout.automaticServices.isEmpty)
  }

  @Test func referenceIsTheOutputOfItsScript() throws {
    let script = Process()
    script.executableURL = URL(filePath: "/usr/bin/env")
    script.arguments = ["python3", Fixtures.path("generate-reference.py")]
    let output = Pipe()
    script.standardOutput = output
    try script.run()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    script.waitUntilExit()
    #expect(script.terminationStatus == 0)
    #expect([UInt8](printed) == (try Fixtures.bytes("reference-820.json")))
  }

  /// `edges.json` has values at the limits, each permission, and services of each kind.
  @Test func edgesHasEveryCase() throws {
    let layout = try Profile(contentsOfFile: Fixtures.path("edges.json")).layout()
    let text = String(decoding: try Fixtures.bytes("edges.json"), as: UTF8.self)
    for word in AttributePermissions.words { #expect(text.contains("\"\(word)\"")) }
    let characteristics = layout.services.flatMap(\.characteristics)
    let lengths = characteristics.map { characteristic in
      if case .stored(let octets, _) = characteristic.value { octets.count } else { 0 }
    }
    #expect(Set(lengths).isSuperset(of: [0, 1, 22, 23, 512]))
    #expect(characteristics.contains { $0.permissions == AttributePermissions() })
    #expect(layout.attributes.last?.handle == .max)
    #expect(layout.services.contains { !$0.isPrimary })
    #expect(layout.services.contains { $0.uuid.short == nil && $0.uuid.short32 != nil })
    #expect(layout.services.contains { $0.uuid.short32 == nil })
    #expect(Dictionary(grouping: layout.services, by: \.uuid).values.contains { $0.count > 5 })
    #expect(
      layout.services.flatMap(\.includes).contains { $0.target!.endHandle < $0.handle! })
  }
}
