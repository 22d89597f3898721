# Values as events hold them: what may stand in a field, copies, and paths to fields.
require "bigdecimal"

module Spillway
  module Values
    # What may be stored, in a copy of its own; texts stay the script's own objects.
    def self.plain(value)
      case value
      when Integer, nil, true, false, Float then value
      when String then text(value)
      when LogStash::Timestamp, BigDecimal then value
      when Symbol then text(value.to_s)
      when Array then value.map { |item| plain(item) }
      when Hash then value.each_with_object({}) { |(key, item), copy| copy[text(key.to_s)] = plain(item) }
      when Time then LogStash::Timestamp.new(value)
      else raise TypeError, "an event cannot hold an object of the class #{value.class}"
      end
    end

    def self.text(value)
      return value if value.encoding.equal?(Encoding::UTF_8) && value.valid_encoding? && value.instance_of?(String)

      bytes = String.new(value)
      return bytes.force_encoding(Encoding::UTF_8).scrub if [Encoding::UTF_8, Encoding::BINARY].include?(bytes.encoding)

      bytes.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    end

    def self.copy(value)
      case value
      when String then value.dup
      when Array then value.map { |item| copy(item) }
      when Hash then value.transform_values { |item| copy(item) }
      else value
      end
    end

    def self.tags?(value)
      value.is_a?(String) || value.nil? || (value.is_a?(Array) && value.all? { |tag| tag.is_a?(String) })
    end
  end

  # A parsed field reference.
  class Reference
    CACHED = {}
    MOST_CACHED = 10_000
    INDEX = /\A[+-]?\d+\z/.freeze
    ESCAPES = {
      "percent" => ->(name) { name.gsub("%5B", "[").gsub("%5D", "]") },
      "ampersand" => ->(name) { name.gsub("&#91;", "[").gsub("&#93;", "]") }
    }.freeze

    class << self
      attr_accessor :escape_style

      def of(text)
        raise TypeError, "a field reference must be a String, not #{text.class}" unless text.is_a?(String)

        CACHED[text] || begin
          CACHED.clear if CACHED.size >= MOST_CACHED
          kept = -Values.text(text)
          CACHED[kept] = new(kept)
        end
      end
    end

    attr_reader :text, :names, :indices

    def initialize(text)
      @text = text
      @names = parse(text).map { |name| unescape(name).freeze }
      @metadata = @names.first == "@metadata"
      @names.shift if @metadata
      @indices = @names.map { |name| INDEX.match?(name) ? name.to_i : nil }
      @guarded = all_metadata? || (!@metadata && %w[@timestamp tags].include?(@names.first))
      @only = @names.first if @names.size == 1
    end

    # Whether not every value may stand there.
    def guarded?
      @guarded
    end

    def metadata?
      @metadata
    end

    def all_metadata?
      @metadata && @names.empty?
    end

    def top
      @names.first unless @metadata
    end

    # The value, or the block's where there is none.
    def find(root, steps = @names.size)
      # Most are names of the top, which is a map always.
      return root.fetch(@only) { yield } if @only && steps == 1

      step = 0
      while step < steps
        if root.instance_of?(Hash)
          root = root.fetch(@names[step]) { return yield }
        elsif root.instance_of?(Array)
          index = @indices[step]
          return yield if index.nil? || index >= root.size || index < -root.size

          root = root[index]
        else
          return yield
        end
        step += 1
      end
      root
    end

    LONGEST_PADDED_LIST = 1 << 20

    # Makes the parents; a name below a list changes nothing.
    def put(root, value)
      return root[@only] = value if @only

      last = @names.size - 1
      @names.each_with_index do |name, step|
        case root
        when Hash
          return root[name] = value if step == last

          root[name] = {} unless root.key?(name)
          root = root[name]
        when Array
          index = @indices[step] or return
          raise IndexError, "index #{index} is out of range" if index < -root.size || index >= LONGEST_PADDED_LIST
          return root[index] = value if step == last

          root[index] = {} if root[index].nil?
          root = root[index]
        else raise ArgumentError, "Could not set field '#{name}' on object '#{root}' to set '#{@text}'"
        end
      end
    end

    def delete(root)
      parent = find(root, @names.size - 1) { return nil }
      case parent
      when Hash then parent.delete(@names.last)
      when Array then @indices.last && parent.delete_at(@indices.last)
      end
    end

    private

    def parse(text)
      return [text] unless text.match?(/[\[\]]/)
      raise "Invalid FieldReference: `#{text}`" unless text.match?(/\A(?<one>\[(?:[^\[\]]+|\g<one>+)\])+\z/)

      text.scan(/[^\[\]]+/)
    end

    def unescape(name)
      escape = ESCAPES[self.class.escape_style]
      escape ? escape.call(name) : name
    end
  end
end
